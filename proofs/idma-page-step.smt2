; claim: Every address, length and window: a step of a page type side moves at least one byte, at most what is left
;   and at most a window, and its last byte lies in the window of its first, so that no burst crosses a boundary and
;   every list ends.
; relied on by: dmaverify.machines.idma.legalizer.window_cuts
; relied on by: dmaverify.machines.idma.legalizer.legalize
; quotes: encodings/core/sequencer.smt2#core/in-window
; quotes: encodings/idma/bursts.smt2#idma/page-step
; tamper: (+ address (idma/page-step address rest window index) (- 1)) ==> (+ address (idma/page-step address rest window index))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-window ((address Int) (size Int) (window Int)) Bool
  (and (<= (* size window) address) (< address (* size (+ window 1)))))
(define-fun idma/page-step ((address Int) (rest Int) (window Int) (index Int)) Int
  (ite (< (- (* window (+ index 1)) address) rest) (- (* window (+ index 1)) address) rest))

(declare-const address Int)
(declare-const rest Int)
(declare-const window Int)
(declare-const index Int)
(assert (and (< 0 window) (< 0 rest)))
(assert (core/in-window address window index))
(assert (not (and
  (<= 1 (idma/page-step address rest window index))
  (<= (idma/page-step address rest window index) rest)
  (<= (idma/page-step address rest window index) window)
  (core/in-window (+ address (idma/page-step address rest window index) (- 1)) window index))))
(check-sat)

; claim: Every address, length and window: where a step of a page type side leaves something, the next burst starts at
;   the next multiple of the window, so that the cuts are exactly the multiples inside the transfer, and each step
;   enters the next window.
; relied on by: dmaverify.machines.idma.legalizer.window_cuts
; quotes: encodings/core/sequencer.smt2#core/in-window
; quotes: encodings/idma/bursts.smt2#idma/page-step
; tamper: (* window (+ index 1)))))) ==> (* window (+ index 2))))))
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
(assert (< (idma/page-step address rest window index) rest))
(assert (not (and
  (core/in-window (+ address (idma/page-step address rest window index)) window (+ index 1))
  (= (+ address (idma/page-step address rest window index)) (* window (+ index 1))))))
(check-sat)

; claim: Every pair of addresses, length and pair of windows: the step of two coupled sides moves at least one byte
;   and at most what is left, and neither side crosses a boundary of its own; where something is left, one of them
;   stands at a boundary, so that the cuts are those of both sides.
; relied on by: dmaverify.machines.idma.legalizer.legalize
; relied on by: dmaverify.machines.idma.legalizer.is_coupled
; quotes: encodings/core/sequencer.smt2#core/in-window
; quotes: encodings/idma/bursts.smt2#idma/page-step
; quotes: encodings/idma/bursts.smt2#idma/coupled-step
; tamper: (core/in-window (+ dst n (- 1)) wd d) ==> (core/in-window (+ dst n) wd d)
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-window ((address Int) (size Int) (window Int)) Bool
  (and (<= (* size window) address) (< address (* size (+ window 1)))))
(define-fun idma/page-step ((address Int) (rest Int) (window Int) (index Int)) Int
  (ite (< (- (* window (+ index 1)) address) rest) (- (* window (+ index 1)) address) rest))
(define-fun idma/coupled-step ((one Int) (other Int)) Int
  (ite (< one other) one other))

(declare-const src Int)
(declare-const dst Int)
(declare-const rest Int)
(declare-const ws Int)
(declare-const wd Int)
(declare-const s Int)
(declare-const d Int)
(declare-const n Int)
(assert (and (< 0 ws) (< 0 wd) (< 0 rest)))
(assert (core/in-window src ws s))
(assert (core/in-window dst wd d))
(assert (= n (idma/coupled-step (idma/page-step src rest ws s) (idma/page-step dst rest wd d))))
(assert (not (and
  (<= 1 n) (<= n rest)
  (core/in-window (+ src n (- 1)) ws s)
  (core/in-window (+ dst n (- 1)) wd d)
  (or (= n rest) (= (+ src n) (* ws (+ s 1))) (= (+ dst n) (* wd (+ d 1)))))))
(check-sat)

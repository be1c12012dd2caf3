; claim: A loop of stride 0 and count n >= 2 writes every address of the rest of the nest at least twice: counters 0 and
;   1 are in range, differ, and have one address. So a broadcasting write is refused.
; relied on by: dmaverify.prove.move.obligations.once_claim
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/sequencer.smt2#core/loop-step
; tamper: (<= 2 n) ==> (<= 1 n)
; tamper: (core/loop-step address 1 0) ==> (core/loop-step address 1 1)
(set-logic QF_LIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/loop-step ((address Int) (counter Int) (stride Int)) Int
  (+ address (* counter stride)))

(declare-const n Int)
(declare-const address Int)
(assert (<= 2 n))
(assert (not (and
  (core/in-range 0 n)
  (core/in-range 1 n)
  (= (core/loop-step address 0 0) (core/loop-step address 1 0)))))
(check-sat)

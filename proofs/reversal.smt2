; claim: Every count and stride: a loop walked backwards, from its last address with stride - s and counter n - 1 - c,
;   makes the address of counter c, and its counter is in range. So a negative stride is a loop with another base.
; relied on by: dmaverify.layout.refine.drive
; relied on by: dmaverify.prove.move.obligations.nest_claims
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/sequencer.smt2#core/loop-step
; tamper: (core/loop-step base (- n 1) s) ==> (core/loop-step base n s)
; tamper: (core/in-range (- (- n 1) c) n) ==> (core/in-range (- n c) n)
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/loop-step ((address Int) (counter Int) (stride Int)) Int
  (+ address (* counter stride)))

(declare-const base Int)
(declare-const n Int)
(declare-const s Int)
(declare-const c Int)
(assert (core/in-range c n))
(assert (not (and
  (core/in-range (- (- n 1) c) n)
  (= (core/loop-step base c s) (core/loop-step (core/loop-step base (- n 1) s) (- (- n 1) c) (- s))))))
(check-sat)

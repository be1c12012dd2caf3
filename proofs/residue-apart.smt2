; claim: Every step g > 0: let `low` be the multiple of g at or below target - least, so that low <= target - least < low
;   + g, and let it lie below target - most. The large strides of a sum move in steps of g, so that they differ from low
;   by a multiple of g; the small ones add something in [least, most]. Then the sum is never the target.
; relied on by: dmaverify.prove.meet.apart
; quotes: encodings/core/sequencer.smt2#core/in-run
; quotes: encodings/core/sequencer.smt2#core/multiple
; tamper: (assert (< low (- target most))) ==> (assert (<= low (- target most)))
; tamper: (assert (core/multiple ahead g d)) ==> (assert true)
; tamper: (and (<= least small) (<= small most)) ==> (and (<= least small) (<= small (+ most 1)))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-run ((address Int) (first Int) (size Int)) Bool
  (and (<= first address) (< address (+ first size))))
(define-fun core/multiple ((value Int) (unit Int) (quotient Int)) Bool
  (= value (* unit quotient)))

(declare-const g Int)
(declare-const d Int)
(declare-const low Int)
(declare-const ahead Int)
(declare-const small Int)
(declare-const least Int)
(declare-const most Int)
(declare-const target Int)
(assert (< 0 g))
(assert (core/multiple ahead g d))
(assert (and (<= least small) (<= small most)))
(assert (core/in-run (- target least) low g))
(assert (< low (- target most)))
(assert (not (not (= (+ (+ low ahead) small) target))))
(check-sat)

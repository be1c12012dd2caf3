; claim: Every size: `e % k` and `e = k` have the same cells when k divides the size. Position i < k is its own
;   remainder by the size, so both read e at i.
; relied on by: dmaverify.layout.digits.compile_digits
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/mapping.smt2#core/splits
; quotes: encodings/core/sequencer.smt2#core/multiple
; tamper: (core/in-range i k) ==> (core/in-range i (+ k 1))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/join ((major Int) (size Int) (minor Int)) Int
  (+ (* major size) minor))
(define-fun core/splits ((position Int) (size Int) (major Int) (minor Int)) Bool
  (and (= position (core/join major size minor)) (core/in-range minor size)))
(define-fun core/multiple ((value Int) (unit Int) (quotient Int)) Bool
  (= value (* unit quotient)))

(declare-const size Int)
(declare-const k Int)
(declare-const pieces Int)
(declare-const i Int)
(declare-const quotient Int)
(declare-const remainder Int)
(assert (core/multiple size k pieces))
(assert (< 0 pieces))
(assert (core/in-range i k))
(assert (core/splits i size quotient remainder))
(assert (not (= remainder i)))
(check-sat)

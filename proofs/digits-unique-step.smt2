; claim: Induction step of mixed radix, every radix: let the low digits make a number below w (the product of their
;   radices) and let that number determine them (agree). Then one more digit of weight w keeps it so: equal numbers have
;   equal digits, all of them. From euclid-uniqueness and digits-unique-step follows uniqueness for any count of digits.
; relied on by: dmaverify.layout.digits.compile_digits
; relied on by: dmaverify.prove.move.obligations.nest_claims
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/coordinate
; tamper: (assert (core/in-range low2 w)) ==> (assert (<= 0 low2))
; tamper: (assert (=> (= low low2) agree)) ==> (assert true)
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/coordinate ((sum Int) (digit Int) (weight Int)) Int
  (+ sum (* digit weight)))

(declare-const w Int)
(declare-const low Int)
(declare-const low2 Int)
(declare-const d Int)
(declare-const d2 Int)
(declare-const agree Bool)
(assert (core/in-range low w))
(assert (core/in-range low2 w))
(assert (=> (= low low2) agree))
(assert (= (core/coordinate low d w) (core/coordinate low2 d2 w)))
(assert (not (and (= d d2) agree)))
(check-sat)

; claim: Every radix: if the low digits make a number in [0, w), then one more digit of weight w and radix n makes one
;   in [0, n w). So a sum of digits stays below the product of their radices.
; relied on by: dmaverify.layout.digits.compile_digits
; relied on by: dmaverify.prove.move.obligations.nest_claims
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/coordinate
; tamper: (core/in-range d n) ==> (core/in-range d (+ n 1))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/coordinate ((sum Int) (digit Int) (weight Int)) Int
  (+ sum (* digit weight)))

(declare-const w Int)
(declare-const n Int)
(declare-const low Int)
(declare-const d Int)
(assert (core/in-range low w))
(assert (core/in-range d n))
(assert (not (core/in-range (core/coordinate low d w) (* n w))))
(check-sat)

; claim: Every k, m: `e / k` on a minor digit of m k positions leaves m of them. If position i of `e / k` splits by m
;   into (h, t), then position i k of e splits by m k into (h, t k): the digit keeps its place, its weight grows by k.
; relied on by: dmaverify.layout.digits.compile_digits
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/mapping.smt2#core/splits
; tamper: (< 0 k) ==> (<= 0 k)
; tamper: h (* t k)) ==> h t)
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/join ((major Int) (size Int) (minor Int)) Int
  (+ (* major size) minor))
(define-fun core/splits ((position Int) (size Int) (major Int) (minor Int)) Bool
  (and (= position (core/join major size minor)) (core/in-range minor size)))

(declare-const i Int)
(declare-const k Int)
(declare-const m Int)
(declare-const h Int)
(declare-const t Int)
(assert (< 0 k))
(assert (core/splits i m h t))
(assert (not (core/splits (* i k) (* m k) h (* t k))))
(check-sat)

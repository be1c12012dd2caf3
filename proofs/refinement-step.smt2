; claim: Two cuts p and q = p k of one axis, every p and k: cutting at q and cutting the rest at p gives the same low
;   digit as cutting at p at once, and the digits above make that cut's quotient: x / p = (x / q) k + (x % q) / p, where
;   the middle digit is below k. So the cuts of a divisibility chain have one common refinement.
; relied on by: dmaverify.layout.digits.compile_digits
; relied on by: dmaverify.layout.refine.drive
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/mapping.smt2#core/splits
; tamper: (= q (* p k)) ==> (= q (+ (* p k) 1))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/join ((major Int) (size Int) (minor Int)) Int
  (+ (* major size) minor))
(define-fun core/splits ((position Int) (size Int) (major Int) (minor Int)) Bool
  (and (= position (core/join major size minor)) (core/in-range minor size)))

(declare-const x Int)
(declare-const p Int)
(declare-const k Int)
(declare-const q Int)
(declare-const h Int)
(declare-const rest Int)
(declare-const m Int)
(declare-const l Int)
(declare-const g Int)
(declare-const l2 Int)
(assert (< 0 p))
(assert (= q (* p k)))
(assert (core/splits x q h rest))
(assert (core/splits rest p m l))
(assert (core/splits x p g l2))
(assert (not (and (= l l2) (= g (core/join h k m)) (core/in-range m k))))
(check-sat)

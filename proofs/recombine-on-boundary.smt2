; claim: Every size: `[e / n, e % n]` is e when n is a digit boundary of e. Let e at p be major(p / n) + minor(p % n),
;   with functions that are 0 at 0. Then e at (h n) plus e at l equals e at (h n + l), for 0 <= l < n.
; relied on by: dmaverify.layout.digits.compile_digits
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/mapping.smt2#core/splits
; tamper: (assert (= (minor 0) 0)) ==> (assert true)
; tamper: (core/splits (* h n) n q0 r0) ==> (core/splits (+ (* h n) 1) n q0 r0)
(set-logic QF_UFNIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/join ((major Int) (size Int) (minor Int)) Int
  (+ (* major size) minor))
(define-fun core/splits ((position Int) (size Int) (major Int) (minor Int)) Bool
  (and (= position (core/join major size minor)) (core/in-range minor size)))

(declare-const n Int)
(declare-const h Int)
(declare-const l Int)
(declare-const p Int)
(declare-const q0 Int)
(declare-const r0 Int)
(declare-const q1 Int)
(declare-const r1 Int)
(declare-const q2 Int)
(declare-const r2 Int)
(declare-fun major (Int) Int)
(declare-fun minor (Int) Int)
(assert (= (major 0) 0))
(assert (= (minor 0) 0))
(assert (core/splits p n h l))
(assert (core/splits (* h n) n q0 r0))
(assert (core/splits l n q1 r1))
(assert (core/splits p n q2 r2))
(assert (not (= (+ (+ (major q0) (minor r0)) (+ (major q1) (minor r1))) (+ (major q2) (minor r2)))))
(check-sat)

; claim: Every weight w and radix n: if x = rest + digit w + major (n w) with 0 <= rest < w and 0 <= digit < n, then `x
;   / w % n` is that digit (and x % w is rest, x / w / n is major). By euclid-uniqueness, taken here as a hypothesis at
;   x by w and at x / w by n.
; relied on by: dmaverify.layout.digits.compile_digits
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/mapping.smt2#core/splits
; quotes: encodings/core/mapping.smt2#core/coordinate
; tamper: (assert (core/in-range digit2 n)) ==> (assert true)
; tamper: (core/in-range rest2 w) ==> (core/in-range rest2 (+ w 1))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/join ((major Int) (size Int) (minor Int)) Int
  (+ (* major size) minor))
(define-fun core/splits ((position Int) (size Int) (major Int) (minor Int)) Bool
  (and (= position (core/join major size minor)) (core/in-range minor size)))
(define-fun core/coordinate ((sum Int) (digit Int) (weight Int)) Int
  (+ sum (* digit weight)))

(declare-const x Int)
(declare-const w Int)
(declare-const n Int)
(declare-const y Int)
(declare-const major Int)
(declare-const digit Int)
(declare-const rest Int)
(declare-const y2 Int)
(declare-const major2 Int)
(declare-const digit2 Int)
(declare-const rest2 Int)
(define-fun unique ((x Int) (n Int) (h Int) (l Int) (h2 Int) (l2 Int)) Bool
  (=> (and (core/splits x n h l) (core/splits x n h2 l2)) (and (= h h2) (= l l2))))
(assert (unique x w y rest y2 rest2))
(assert (unique y n major digit major2 digit2))
(assert (core/splits x w y rest))
(assert (core/splits y n major digit))
(assert (= x (core/coordinate (core/coordinate rest2 digit2 w) major2 (* n w))))
(assert (= y2 (core/join major2 n digit2)))
(assert (core/in-range digit2 n))
(assert (core/in-range rest2 w))
(assert (not (and (= rest rest2) (= digit digit2) (= major major2))))
(check-sat)

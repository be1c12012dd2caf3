; claim: A witness, not a theorem: off a digit boundary `[e / n, e % n]` is not e. With A=2, B=3 and e = [A, B], some
;   position of `[A, B] / 2, [A, B] % 2` has other coordinates than e (position 3: B = 3 instead of A = 1). So the
;   compiler of digits must not recombine there.
; relied on by: dmaverify.layout.digits.compile_digits
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/mapping.smt2#core/splits
; tamper: (core/in-range p 6) ==> (core/in-range p 3)
(set-logic QF_LIA)
(set-info :status sat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/join ((major Int) (size Int) (minor Int)) Int
  (+ (* major size) minor))
(define-fun core/splits ((position Int) (size Int) (major Int) (minor Int)) Bool
  (and (= position (core/join major size minor)) (core/in-range minor size)))

(declare-const p Int)
(declare-const h Int)
(declare-const l Int)
(declare-const a0 Int)
(declare-const b0 Int)
(declare-const a1 Int)
(declare-const b1 Int)
(declare-const a Int)
(declare-const b Int)
(assert (core/in-range p 6))
(assert (core/splits p 2 h l))
(assert (core/splits (* h 2) 3 a0 b0))
(assert (core/splits l 3 a1 b1))
(assert (core/splits p 3 a b))
(assert (not (and (= (+ a0 a1) a) (= (+ b0 b1) b))))
(check-sat)

; claim: For every size n > 0, by induction over the position, up and down: 0 splits into (0, 0), and if p splits by n
;   into (h, l), then p + 1 splits into (h, l + 1) or (h + 1, 0), and p - 1 into (h, l - 1) or (h - 1, n - 1). So every
;   position, below 0 too, has a quotient and a remainder.
; relied on by: dmaverify.prove.move.script.ScriptWriter
; relied on by: dmaverify.layout.digits.compile_digits
; relied on by: dmaverify.layout.refine.drive
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/mapping.smt2#core/splits
; tamper: (core/splits (+ p 1) n (+ h 1) 0) ==> (core/splits (+ p 1) n h 0)
; tamper: (- h 1) (- n 1)) ==> (- h 1) 0)
; tamper: (- h 1) (- n 1)) ==> (- h 1) n)
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/join ((major Int) (size Int) (minor Int)) Int
  (+ (* major size) minor))
(define-fun core/splits ((position Int) (size Int) (major Int) (minor Int)) Bool
  (and (= position (core/join major size minor)) (core/in-range minor size)))

(declare-const p Int)
(declare-const n Int)
(declare-const h Int)
(declare-const l Int)
(assert (< 0 n))
(assert (core/splits p n h l))
(assert (not (and
  (core/splits 0 n 0 0)
  (or (core/splits (+ p 1) n h (+ l 1)) (core/splits (+ p 1) n (+ h 1) 0))
  (or (core/splits (- p 1) n h (- l 1)) (core/splits (- p 1) n (- h 1) (- n 1))))))
(check-sat)

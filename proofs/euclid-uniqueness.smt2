; claim: For every size n and every position: quotient and remainder are unique. If h n + l = h' n + l' with 0 <= l, l'
;   < n, then h = h' and l = l'. This is what lets digits stand for div and mod.
; relied on by: dmaverify.layout.addresses.lay_out
; relied on by: dmaverify.layout.refine.drive
; relied on by: dmaverify.prove.move.units.compare
; relied on by: dmaverify.prove.move.script.ScriptWriter
; relied on by: dmaverify.layout.digits.compile_digits
; relied on by: dmaverify.prove.move.obligations.nest_claims
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/mapping.smt2#core/splits
; tamper: (assert (core/splits position n h2 l2)) ==> (assert (= position (core/join h2 n l2)))
; tamper: (< digit slots) ==> (<= digit slots)
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/join ((major Int) (size Int) (minor Int)) Int
  (+ (* major size) minor))
(define-fun core/splits ((position Int) (size Int) (major Int) (minor Int)) Bool
  (and (= position (core/join major size minor)) (core/in-range minor size)))

(declare-const position Int)
(declare-const n Int)
(declare-const h Int)
(declare-const l Int)
(declare-const h2 Int)
(declare-const l2 Int)
(assert (core/splits position n h l))
(assert (core/splits position n h2 l2))
(assert (not (and (= h h2) (= l l2))))
(check-sat)

; claim: Every size: where `# n` pads a compound at a multiple of its minor size, the guard on the compound is the guard
;   on the major digit alone. major size + minor < live size iff major < live. So padding on a digit boundary is slots
;   and live of one digit.
; relied on by: dmaverify.layout.digits.compile_digits
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/mapping.smt2#core/digit-live
; quotes: encodings/core/mapping.smt2#core/compound-live
; tamper: (* live size) ==> (- (* live size) 1)
; tamper: (core/in-range minor size) ==> (core/in-range minor (+ size 1))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/join ((major Int) (size Int) (minor Int)) Int
  (+ (* major size) minor))
(define-fun core/digit-live ((digit Int) (live Int)) Bool
  (< digit live))
(define-fun core/compound-live ((major Int) (size Int) (minor Int) (live Int)) Bool
  (< (core/join major size minor) live))

(declare-const size Int)
(declare-const live Int)
(declare-const major Int)
(declare-const minor Int)
(assert (core/in-range minor size))
(assert (not (= (core/compound-live major size minor (* live size)) (core/digit-live major live))))
(check-sat)

; claim: Cutting a loop of any count n by q with p = ceil(n / q): the counters (h, l) that pass the guard h q + l < n
;   are exactly the counters of the loop. Every c < n splits into an h in range of p that passes, and every (h, l) that
;   passes makes a c < n.
; relied on by: dmaverify.layout.refine.cut_piece
; relied on by: dmaverify.layout.addresses.cut_digit
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/mapping.smt2#core/splits
; quotes: encodings/core/mapping.smt2#core/compound-live
; quotes: encodings/core/sequencer.smt2#core/parts
; tamper: (and (core/in-range h p) (core/compound-live h q l n)) ==> (core/in-range h p)
; tamper: (core/in-range h p) ==> (core/in-range h (- p 1))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/join ((major Int) (size Int) (minor Int)) Int
  (+ (* major size) minor))
(define-fun core/splits ((position Int) (size Int) (major Int) (minor Int)) Bool
  (and (= position (core/join major size minor)) (core/in-range minor size)))
(define-fun core/compound-live ((major Int) (size Int) (minor Int) (live Int)) Bool
  (< (core/join major size minor) live))
(define-fun core/parts ((size Int) (unit Int) (parts Int)) Bool
  (and (< (* unit (- parts 1)) size) (<= size (* unit parts))))

(declare-const n Int)
(declare-const p Int)
(declare-const q Int)
(declare-const c Int)
(declare-const h Int)
(declare-const l Int)
(assert (< 0 q))
(assert (core/parts n q p))
(assert (core/splits c q h l))
(assert (not (= (core/in-range c n) (and (core/in-range h p) (core/compound-live h q l n)))))
(check-sat)

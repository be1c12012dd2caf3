; claim: Every count: if the inner loops reach each offset in [0, w) once, a loop n : w reaches each in [0, n w) once.
;   The one counter is the quotient by w, it is in range, and no other counter reaches the offset.
; relied on by: dmaverify.prove.move.obligations.cover_claims
; relied on by: dmaverify.prove.move.obligations.once_claim
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/mapping.smt2#core/splits
; quotes: encodings/core/sequencer.smt2#core/loop-step
; tamper: (core/in-range inner w) ==> (core/in-range inner (+ w 1))
; tamper: (core/in-range x (* n w)) ==> (core/in-range x (+ (* n w) 1))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/join ((major Int) (size Int) (minor Int)) Int
  (+ (* major size) minor))
(define-fun core/splits ((position Int) (size Int) (major Int) (minor Int)) Bool
  (and (= position (core/join major size minor)) (core/in-range minor size)))
(define-fun core/loop-step ((address Int) (counter Int) (stride Int)) Int
  (+ address (* counter stride)))

(declare-const n Int)
(declare-const w Int)
(declare-const x Int)
(declare-const q Int)
(declare-const r Int)
(declare-const c Int)
(declare-const inner Int)
(assert (core/in-range x (* n w)))
(assert (core/splits x w q r))
(assert (core/in-range inner w))
(assert (= x (core/loop-step inner c w)))
(assert (not (and (core/in-range q n) (= c q) (= inner r))))
(check-sat)

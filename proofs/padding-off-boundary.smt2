; claim: 15 live positions in 16 slots cut by 4 (these sizes only, all 16 positions): whatever bounds a, b are put on
;   the two digits alone, some position h 4 + l is told apart from h 4 + l < 15. So padding off a digit boundary needs
;   the guard on the compound.
; relied on by: dmaverify.layout.digits.compile_digits
; relied on by: dmaverify.prove.move.obligations.once_claim
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/mapping.smt2#core/digit-live
; quotes: encodings/core/mapping.smt2#core/compound-live
; tamper: (core/compound-live 3 4 3 15) ==> (core/compound-live 3 4 3 16)
(set-logic QF_LIA)
(set-info :status unsat)

(define-fun core/join ((major Int) (size Int) (minor Int)) Int
  (+ (* major size) minor))
(define-fun core/digit-live ((digit Int) (live Int)) Bool
  (< digit live))
(define-fun core/compound-live ((major Int) (size Int) (minor Int) (live Int)) Bool
  (< (core/join major size minor) live))

(declare-const a Int)
(declare-const b Int)
(assert (not (or
  (distinct (and (core/digit-live 0 a) (core/digit-live 0 b)) (core/compound-live 0 4 0 15))
  (distinct (and (core/digit-live 0 a) (core/digit-live 1 b)) (core/compound-live 0 4 1 15))
  (distinct (and (core/digit-live 0 a) (core/digit-live 2 b)) (core/compound-live 0 4 2 15))
  (distinct (and (core/digit-live 0 a) (core/digit-live 3 b)) (core/compound-live 0 4 3 15))
  (distinct (and (core/digit-live 1 a) (core/digit-live 0 b)) (core/compound-live 1 4 0 15))
  (distinct (and (core/digit-live 1 a) (core/digit-live 1 b)) (core/compound-live 1 4 1 15))
  (distinct (and (core/digit-live 1 a) (core/digit-live 2 b)) (core/compound-live 1 4 2 15))
  (distinct (and (core/digit-live 1 a) (core/digit-live 3 b)) (core/compound-live 1 4 3 15))
  (distinct (and (core/digit-live 2 a) (core/digit-live 0 b)) (core/compound-live 2 4 0 15))
  (distinct (and (core/digit-live 2 a) (core/digit-live 1 b)) (core/compound-live 2 4 1 15))
  (distinct (and (core/digit-live 2 a) (core/digit-live 2 b)) (core/compound-live 2 4 2 15))
  (distinct (and (core/digit-live 2 a) (core/digit-live 3 b)) (core/compound-live 2 4 3 15))
  (distinct (and (core/digit-live 3 a) (core/digit-live 0 b)) (core/compound-live 3 4 0 15))
  (distinct (and (core/digit-live 3 a) (core/digit-live 1 b)) (core/compound-live 3 4 1 15))
  (distinct (and (core/digit-live 3 a) (core/digit-live 2 b)) (core/compound-live 3 4 2 15))
  (distinct (and (core/digit-live 3 a) (core/digit-live 3 b)) (core/compound-live 3 4 3 15)))))
(check-sat)

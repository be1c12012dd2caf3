; claim: Every n: if f maps n numbers into n cells, no two alike, and misses the cell v, then moving what hit the last
;   cell to v maps them into n - 1 cells, no two alike, against pigeonhole-step. So as many writes as cells, none twice,
;   cover every cell.
; relied on by: dmaverify.prove.move.carried_cover.CarriedCover
; relied on by: dmaverify.prove.flow.coverage.tile_cover.covers
; quotes: encodings/core/mapping.smt2#core/in-range
; tamper: (assert (and (distinct (f i) v) (distinct (f j) v))) ==> (assert true)
(set-logic QF_UFLIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))

(declare-const n Int)
(declare-const i Int)
(declare-const j Int)
(declare-const v Int)
(declare-fun f (Int) Int)
(define-fun g ((x Int)) Int (ite (= (f x) (- n 1)) v (f x)))
(assert (core/in-range v n))
(assert (and (core/in-range i n) (core/in-range j n) (distinct i j)))
(assert (and (core/in-range (f i) n) (core/in-range (f j) n)))
(assert (distinct (f i) (f j)))
(assert (and (distinct (f i) v) (distinct (f j) v)))
(assert (not (and (core/in-range (g i) (- n 1)) (distinct (g i) (g j)))))
(check-sat)

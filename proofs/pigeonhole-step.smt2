; claim: Every n >= 1: if f maps the n + 1 numbers 0 .. n into n holes, no two alike, then g, which sends what f put
;   into the last hole to f(n), maps the n numbers 0 .. n - 1 into n - 1 holes, no two alike. Descending to n = 0 there
;   is a number and no hole, so there is no such f. Here i, j stand for any two numbers; f is used at i, j, n only.
; relied on by: dmaverify.prove.move.carried_cover.CarriedCover
; quotes: encodings/core/mapping.smt2#core/in-range
; tamper: (distinct (f i) (f j) (f n)) ==> (distinct (f i) (f j))
(set-logic QF_UFLIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))

(declare-const n Int)
(declare-const i Int)
(declare-const j Int)
(declare-fun f (Int) Int)
(define-fun g ((x Int)) Int (ite (= (f x) (- n 1)) (f n) (f x)))
(assert (<= 1 n))
(assert (and (core/in-range i n) (core/in-range j n) (distinct i j)))
(assert (and (core/in-range (f i) n) (core/in-range (f j) n) (core/in-range (f n) n)))
(assert (distinct (f i) (f j) (f n)))
(assert (not (and (core/in-range (g i) (- n 1)) (distinct (g i) (g j)))))
(check-sat)

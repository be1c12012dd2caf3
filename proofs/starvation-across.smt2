; claim: Every length n: a stretch x .. y - 1 of copies of a sequence of n accesses that starts in copy i at offset a and whose
;   last access is number b of a later copy j is a stretch to the end of copy i, all copies between, and a stretch from the
;   start of copy j; so it is at most suffix + (j - i - 1) n + prefix long. If i = j it lies in one copy.
; relied on by: dmaverify.prove.flow.starvation.starvation.prove_run
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/mapping.smt2#core/splits
; tamper: (+ suffix prefix (* n (- j i 1))) ==> (+ suffix prefix (* n (- j i 2)))
; tamper: (<= (+ b 1) prefix) ==> (<= b prefix)
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/join ((major Int) (size Int) (minor Int)) Int
  (+ (* major size) minor))
(define-fun core/splits ((position Int) (size Int) (major Int) (minor Int)) Bool
  (and (= position (core/join major size minor)) (core/in-range minor size)))

(declare-const n Int)
(declare-const x Int)
(declare-const y Int)
(declare-const i Int)
(declare-const a Int)
(declare-const j Int)
(declare-const b Int)
(declare-const suffix Int)
(declare-const prefix Int)
(assert (< 0 n))
(assert (and (<= 0 x) (< x y)))
(assert (core/splits x n i a))
(assert (core/splits (- y 1) n j b))
(assert (=> (< i j) (<= (- n a) suffix)))
(assert (=> (< i j) (<= (+ b 1) prefix)))
(assert (not (and
  (<= i j)
  (=> (< i j) (<= (- y x) (+ suffix prefix (* n (- j i 1)))))
  (=> (= i j) (and (= (- y x) (- (+ b 1) a)) (<= (- y x) n))))))
(check-sat)

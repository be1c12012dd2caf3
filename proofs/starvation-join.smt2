; claim: Every length: of two sequences of accesses, n and m long, no stretch of the joined sequence that touches a bank is
;   longer than the joined summary says, at the start, at the end, anywhere. The hypotheses say the same of each sequence, about
;   the part of the stretch x .. y - 1 that lies in it.
; relied on by: dmaverify.prove.flow.starvation.bank_runs.bank_runs
; quotes: encodings/core/starvation.smt2#core/joined-end
; quotes: encodings/core/starvation.smt2#core/joined-best
; tamper: (+ near_length far) ==> (+ near_length (- far 1))
; tamper: (ite (<= other_best (+ suffix prefix)) (+ suffix prefix) other_best) ==> other_best
; tamper: (assert (=> (and (< x n) (<= n y)) (<= (- n x) suffix_a))) ==> (assert true)
(set-logic QF_LIA)
(set-info :status unsat)

(define-fun core/joined-end ((near Int) (near_length Int) (far Int)) Int
  (ite (< near near_length) near (+ near_length far)))
(define-fun core/joined-best ((best Int) (suffix Int) (prefix Int) (other_best Int)) Int
  (ite (and (<= other_best best) (<= (+ suffix prefix) best)) best
    (ite (<= other_best (+ suffix prefix)) (+ suffix prefix) other_best)))

(declare-const n Int)
(declare-const m Int)
(declare-const x Int)
(declare-const y Int)
(declare-const prefix_a Int)
(declare-const suffix_a Int)
(declare-const best_a Int)
(declare-const prefix_b Int)
(declare-const suffix_b Int)
(declare-const best_b Int)
(assert (and (< 0 n) (< 0 m)))
(assert (and (<= 0 prefix_b) (<= 0 suffix_a)))
(assert (and (<= 0 x) (< x y) (<= y (+ n m))))
(assert (=> (<= y n) (<= (- y x) best_a)))
(assert (=> (<= n x) (<= (- y x) best_b)))
(assert (=> (and (< x n) (<= n y)) (<= (- n x) suffix_a)))
(assert (=> (and (<= x n) (< n y)) (<= (- y n) prefix_b)))
(assert (=> (= x 0) (<= (ite (< y n) y n) prefix_a)))
(assert (=> (= y (+ n m)) (<= (- y (ite (< n x) x n)) suffix_b)))
(assert (not (and
  (<= (- y x) (core/joined-best best_a suffix_a prefix_b best_b))
  (=> (= x 0) (<= (- y x) (core/joined-end prefix_a n prefix_b)))
  (=> (= y (+ n m)) (<= (- y x) (core/joined-end suffix_b m suffix_a))))))
(check-sat)

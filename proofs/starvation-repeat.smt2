; claim: Every length n and number of copies: where one copy is not touched throughout, a stretch of touched accesses over equal
;   copies i < j touches two neighbours only, so that it is at most suffix + prefix long. Were there a copy between them, it
;   would be full.
; relied on by: dmaverify.prove.flow.starvation.bank_runs.bank_runs
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/mapping.smt2#core/splits
; tamper: (assert (< prefix n)) ==> (assert (<= prefix n))
; tamper: (<= (- y x) (+ suffix prefix)) ==> (< (- y x) (+ suffix prefix))
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
(assert (core/splits x n i a))
(assert (core/splits (- y 1) n j b))
(assert (< i j))
(assert (<= (- n a) suffix))
(assert (<= (+ b 1) prefix))
(assert (=> (< (+ i 1) j) (<= n prefix)))
(assert (< prefix n))
(assert (not (and
  (= j (+ i 1))
  (<= (- y x) (+ suffix prefix)))))
(check-sat)

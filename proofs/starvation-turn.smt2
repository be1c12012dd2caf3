; claim: Every number of residues and every step: if `turn` steps are whole rounds of the residues, counter i and what is left
;   of it after whole turns reach the same residue, and the latter is no larger. So a run may be sought among the first `turn`
;   starts.
; relied on by: dmaverify.prove.flow.starvation.starvation.prove_run
; relied on by: dmaverify.prove.flow.starvation.bank_runs.bank_runs
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/mapping.smt2#core/splits
; quotes: encodings/core/sequencer.smt2#core/loop-step
; tamper: (= (* step turn) (* size rounds)) ==> (= (* step turn) (+ 1 (* size rounds)))
; tamper: (<= l i) ==> (< l i)
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

(declare-const size Int)
(declare-const step Int)
(declare-const turn Int)
(declare-const rounds Int)
(declare-const x Int)
(declare-const y Int)
(declare-const q Int)
(declare-const i Int)
(declare-const h Int)
(declare-const l Int)
(assert (< 0 size))
(assert (< 0 turn))
(assert (<= 0 i))
(assert (= (* step turn) (* size rounds)))
(assert (core/splits i turn h l))
(assert (core/splits (core/loop-step x i step) size q y))
(assert (not (and
  (core/splits (core/loop-step x l step) size (- q (* h rounds)) y)
  (<= l i))))
(check-sat)

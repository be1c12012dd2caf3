; claim: Two runs of at least one address each lie apart iff no address is in both. If they do not lie apart, the larger
;   of the two first addresses is in both.
; relied on by: dmaverify.prove.move.obligations.once_claim
; relied on by: dmaverify.prove.move.obligations.nest_claims
; quotes: encodings/core/sequencer.smt2#core/in-run
; quotes: encodings/core/sequencer.smt2#core/apart
; tamper: (<= (+ first size) other_first) ==> (<= (+ first size) (+ other_first 1))
; tamper: (<= 1 size) ==> (<= 0 size)
(set-logic QF_LIA)
(set-info :status unsat)

(define-fun core/in-run ((address Int) (first Int) (size Int)) Bool
  (and (<= first address) (< address (+ first size))))
(define-fun core/apart ((first Int) (size Int) (other_first Int) (other_size Int)) Bool
  (or (<= (+ first size) other_first) (<= (+ other_first other_size) first)))

(declare-const first Int)
(declare-const size Int)
(declare-const other_first Int)
(declare-const other_size Int)
(declare-const x Int)
(assert (and (<= 1 size) (<= 1 other_size)))
(assert (not (and
  (=> (core/apart first size other_first other_size)
      (not (and (core/in-run x first size) (core/in-run x other_first other_size))))
  (=> (not (core/apart first size other_first other_size))
      (and
        (core/in-run (ite (< first other_first) other_first first) first size)
        (core/in-run (ite (< first other_first) other_first first) other_first other_size))))))
(check-sat)

; claim: Every length: a burst at the place reached and what is left behind it are the transfer from there on, each
;   byte in exactly one of them. So bursts partition a transfer in order.
; relied on by: dmaverify.machines.idma.legalizer.legalize
; quotes: encodings/core/sequencer.smt2#core/in-run
; tamper: (<= n rest) ==> (<= n (+ rest 1))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-run ((address Int) (first Int) (size Int)) Bool
  (and (<= first address) (< address (+ first size))))

(declare-const done Int)
(declare-const rest Int)
(declare-const n Int)
(declare-const x Int)
(assert (and (<= 1 n) (<= n rest)))
(assert (not (and
  (= (core/in-run x done rest) (or (core/in-run x done n) (core/in-run x (+ done n) (- rest n))))
  (not (and (core/in-run x done n) (core/in-run x (+ done n) (- rest n))))
  (<= 0 (- rest n)))))
(check-sat)

; claim: Every unit, count >= 2: all addresses of a nest are multiples of the unit iff base and strides are. One loop:
;   if address and stride are multiples, so is address + c stride; and if the addresses of counters 0 and 1 are, so is
;   the stride. The quotients are named: no division.
; relied on by: dmaverify.targets.telling.told_by_ends
; relied on by: dmaverify.prove.move.ports.address_gcd
; relied on by: dmaverify.program.views.corners
; quotes: encodings/core/sequencer.smt2#core/loop-step
; quotes: encodings/core/sequencer.smt2#core/multiple
; tamper: (core/multiple stride unit j) ==> (core/multiple (+ stride 1) unit j)
; tamper: (core/loop-step a 1 s) ==> (core/loop-step a 2 s)
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/loop-step ((address Int) (counter Int) (stride Int)) Int
  (+ address (* counter stride)))
(define-fun core/multiple ((value Int) (unit Int) (quotient Int)) Bool
  (= value (* unit quotient)))

(declare-const unit Int)
(declare-const address Int)
(declare-const stride Int)
(declare-const c Int)
(declare-const j Int)
(declare-const k Int)
(declare-const k0 Int)
(declare-const k1 Int)
(declare-const a Int)
(declare-const s Int)
(assert (core/multiple address unit k))
(assert (core/multiple stride unit j))
(assert (core/multiple (core/loop-step a 0 s) unit k0))
(assert (core/multiple (core/loop-step a 1 s) unit k1))
(assert (not (and
  (core/multiple (core/loop-step address c stride) unit (+ k (* c j)))
  (core/multiple a unit k0)
  (core/multiple s unit (- k1 k0)))))
(check-sat)

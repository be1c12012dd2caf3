; claim: An HBM address is below 48 GiB exactly when its bits 34 and 35 are not both 1. So the legal addresses are contiguous.
; relied on by: dmaverify.targets.address_maps.hbm_map
; quotes: encodings/rngd/memory.smt2#rngd/hbm-legal
; tamper: #xC00000000 ==> #xBFFFFFFFF
; tamper: ((_ extract 34 34) address) ==> ((_ extract 33 33) address)
(set-logic QF_BV)
(set-info :status unsat)

(define-fun rngd/hbm-legal ((a (_ BitVec 36))) Bool
  (bvult a #xC00000000))

(declare-const address (_ BitVec 36))
(assert (bvule address #xFFFFFFFFF))
(assert (not (= (rngd/hbm-legal address)
  (not (and (= ((_ extract 34 34) address) #b1) (= ((_ extract 35 35) address) #b1))))))
(check-sat)

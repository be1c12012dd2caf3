; claim: A witness, not a theorem: where a variant with TileLink has pages of 4096 bytes, v0.7.0 has an address with
;   more than a page left and no room for its next step, so that the list would never end.
; relied on by: dmaverify.machines.idma.legalizer._step
; quotes: encodings/idma/bursts.smt2#idma/room-4k
; tamper: (bvsub #x00000800 (bvand address ==> (bvsub #x00001001 (bvand address
(set-logic QF_BV)
(set-info :status sat)

(define-fun idma/room-4k ((address (_ BitVec 32))) (_ BitVec 32)
  (bvand #x00001fff (bvsub #x00000800 (bvand address #x00000fff))))

(declare-const address (_ BitVec 32))
(declare-const rest (_ BitVec 32))
(assert (bvuge rest #x00001000))
(assert (not (bvuge (idma/room-4k address) #x00000001)))
(check-sat)

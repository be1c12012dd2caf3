; claim: A witness, not a theorem: TileLink in v0.7.0 takes the largest power of two that is left whatever the
;   address, so that from a word aligned address an access need not be aligned to its size.
; relied on by: dmaverify.machines.idma.legalizer._step
; quotes: encodings/idma/bursts.smt2#idma/one-bit
; quotes: encodings/idma/bursts.smt2#idma/power-within
; tamper: (bvand address #x00000007) ==> (bvand address #x000007ff)
(set-logic QF_BV)
(set-info :status sat)

(define-fun idma/one-bit ((n (_ BitVec 32))) Bool
  (and (distinct n #x00000000) (= #x00000000 (bvand n (bvsub n #x00000001)))))
(define-fun idma/power-within ((n (_ BitVec 32)) (room (_ BitVec 32))) Bool
  (and (idma/one-bit n) (bvule n room) (bvule n #x00000800) (or (= n #x00000800) (bvult (bvsub room n) n))))

(declare-const address (_ BitVec 32))
(declare-const rest (_ BitVec 32))
(declare-const n (_ BitVec 32))
(assert (= #x00000000 (bvand address #x00000007)))
(assert (bvult rest #x00000800))
(assert (idma/power-within n rest))
(assert (not (= #x00000000 (bvand address (bvsub n #x00000001)))))
(check-sat)

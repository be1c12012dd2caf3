; claim: TileLink in v0.7.0, every address of 32 bits and every length below 2^31: where the address is a multiple of
;   the largest power of two that is left (2048 at most), the step is aligned to its size, and the address behind it is
;   a multiple of the next. So transfers that start at a multiple of 2048, or of no less than their length, keep the
;   protocol's alignment.
; relied on by: dmaverify.machines.idma.legalizer._step
; quotes: encodings/idma/bursts.smt2#idma/one-bit
; quotes: encodings/idma/bursts.smt2#idma/power-within
; tamper: (= #x00000000 (bvand address (bvsub n #x00000001))) ==> (= #x00000000 (bvand address (bvlshr (bvsub n #x00000001) #x00000001)))
(set-logic QF_BV)
(set-info :status unsat)

(define-fun idma/one-bit ((n (_ BitVec 32))) Bool
  (and (distinct n #x00000000) (= #x00000000 (bvand n (bvsub n #x00000001)))))
(define-fun idma/power-within ((n (_ BitVec 32)) (room (_ BitVec 32))) Bool
  (and (idma/one-bit n) (bvule n room) (bvule n #x00000800) (or (= n #x00000800) (bvult (bvsub room n) n))))

(declare-const address (_ BitVec 32))
(declare-const rest (_ BitVec 32))
(declare-const n (_ BitVec 32))
(declare-const m (_ BitVec 32))
(assert (bvult rest #x80000000))
(assert (idma/power-within n rest))
(assert (= #x00000000 (bvand address (bvsub n #x00000001))))
(assert (idma/power-within m (bvsub rest n)))
(assert (not (= #x00000000 (bvand (bvadd address n) (bvsub m #x00000001)))))
(check-sat)

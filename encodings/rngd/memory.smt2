; The address maps of RNGD as bit-vectors: HBM of a chip (36 bits) and data memory of a cluster (30 bits).
; Theorems in proofs/ quote these definitions word for word; tests/cost/test_maps.py compares them with the bit sets of target.toml.
; Source: "Memory Performance" (Address Space in a Chip, Address Space in a Slice), "DMA Engine" (Example 2). Bits 20, 34, 35: inferred.

; The 48 GiB of a chip.
(define-fun rngd/hbm-legal ((a (_ BitVec 36))) Bool
  (bvult a #xC00000000))

; Bit 8 alone.
(define-fun rngd/hbm-stack ((a (_ BitVec 36))) (_ BitVec 1)
  ((_ extract 8 8) a))

; Reading `table`: channel bit i is the XOR of bits 9+i, 13+i, 17+i, 21+i, 25+i.
(define-fun rngd/hbm-channel ((a (_ BitVec 36))) (_ BitVec 4)
  (concat (bvxor ((_ extract 12 12) a) ((_ extract 16 16) a) ((_ extract 20 20) a) ((_ extract 24 24) a) ((_ extract 28 28) a)) (bvxor ((_ extract 11 11) a) ((_ extract 15 15) a) ((_ extract 19 19) a) ((_ extract 23 23) a) ((_ extract 27 27) a)) (bvxor ((_ extract 10 10) a) ((_ extract 14 14) a) ((_ extract 18 18) a) ((_ extract 22 22) a) ((_ extract 26 26) a)) (bvxor ((_ extract 9 9) a) ((_ extract 13 13) a) ((_ extract 17 17) a) ((_ extract 21 21) a) ((_ extract 25 25) a))))

; Reading `prose`: the example in the text leaves bits 17 to 20 out.
(define-fun rngd/hbm-channel-prose ((a (_ BitVec 36))) (_ BitVec 4)
  (concat (bvxor ((_ extract 12 12) a) ((_ extract 16 16) a) ((_ extract 24 24) a) ((_ extract 28 28) a)) (bvxor ((_ extract 11 11) a) ((_ extract 15 15) a) ((_ extract 23 23) a) ((_ extract 27 27) a)) (bvxor ((_ extract 10 10) a) ((_ extract 14 14) a) ((_ extract 22 22) a) ((_ extract 26 26) a)) (bvxor ((_ extract 9 9) a) ((_ extract 13 13) a) ((_ extract 21 21) a) ((_ extract 25 25) a))))

; Bits 13 and 19.
(define-fun rngd/hbm-bank-group ((a (_ BitVec 36))) (_ BitVec 2)
  (concat ((_ extract 19 19) a) ((_ extract 13 13) a)))

; Bits 17 and 18.
(define-fun rngd/hbm-bank ((a (_ BitVec 36))) (_ BitVec 2)
  ((_ extract 18 17) a))

; Three slices: bit 20, or 2 where bit 34 is set.
(define-fun rngd/hbm-slice ((a (_ BitVec 36))) (_ BitVec 2)
  (ite (= ((_ extract 34 34) a) #b1) #b10 (concat #b0 ((_ extract 20 20) a))))

; Bits 21 to 33, and bit 35, or bit 20 where bit 34 is set.
(define-fun rngd/hbm-row ((a (_ BitVec 36))) (_ BitVec 14)
  (concat (ite (= ((_ extract 34 34) a) #b1) ((_ extract 20 20) a) ((_ extract 35 35) a)) ((_ extract 33 21) a)))

; The byte in the row of 2 KiB.
(define-fun rngd/hbm-byte ((a (_ BitVec 36))) (_ BitVec 11)
  (concat ((_ extract 16 14) a) ((_ extract 7 0) a)))

; All places exist but those of a fourth slice.
(define-fun rngd/hbm-place-legal ((slice (_ BitVec 2))) Bool
  (not (= slice #b11)))

; The address of a place, its bits 9 to 12 still 0.
(define-fun rngd/hbm-rest ((stack (_ BitVec 1)) (group (_ BitVec 2)) (bank (_ BitVec 2)) (slice (_ BitVec 2)) (row (_ BitVec 14)) (byte (_ BitVec 11))) (_ BitVec 36)
  (concat (ite (= slice #b10) #b0 ((_ extract 13 13) row)) (ite (= slice #b10) #b1 #b0) ((_ extract 12 0) row)
    (ite (= slice #b10) ((_ extract 13 13) row) ((_ extract 0 0) slice)) ((_ extract 1 1) group) bank ((_ extract 10 8) byte)
    ((_ extract 0 0) group) #b0000 stack ((_ extract 7 0) byte)))

; That address with bits 9 to 12 such that its channel is c.
(define-fun rngd/hbm-close ((a (_ BitVec 36)) (c (_ BitVec 4))) (_ BitVec 36)
  (concat ((_ extract 35 13) a) (concat (bvxor ((_ extract 3 3) c) ((_ extract 16 16) a) ((_ extract 20 20) a) ((_ extract 24 24) a) ((_ extract 28 28) a)) (bvxor ((_ extract 2 2) c) ((_ extract 15 15) a) ((_ extract 19 19) a) ((_ extract 23 23) a) ((_ extract 27 27) a)) (bvxor ((_ extract 1 1) c) ((_ extract 14 14) a) ((_ extract 18 18) a) ((_ extract 22 22) a) ((_ extract 26 26) a)) (bvxor ((_ extract 0 0) c) ((_ extract 13 13) a) ((_ extract 17 17) a) ((_ extract 21 21) a) ((_ extract 25 25) a))) ((_ extract 8 0) a)))

; The same for the reading `prose`.
(define-fun rngd/hbm-close-prose ((a (_ BitVec 36)) (c (_ BitVec 4))) (_ BitVec 36)
  (concat ((_ extract 35 13) a) (concat (bvxor ((_ extract 3 3) c) ((_ extract 16 16) a) ((_ extract 24 24) a) ((_ extract 28 28) a)) (bvxor ((_ extract 2 2) c) ((_ extract 15 15) a) ((_ extract 23 23) a) ((_ extract 27 27) a)) (bvxor ((_ extract 1 1) c) ((_ extract 14 14) a) ((_ extract 22 22) a) ((_ extract 26 26) a)) (bvxor ((_ extract 0 0) c) ((_ extract 13 13) a) ((_ extract 21 21) a) ((_ extract 25 25) a))) ((_ extract 8 0) a)))

; 512 KiB of the 4 MiB of addresses of a slice exist; 256 slices.
(define-fun rngd/dm-legal ((a (_ BitVec 30))) Bool
  (= ((_ extract 21 19) a) #b000))

; 8 bytes wide.
(define-fun rngd/dm-byte ((a (_ BitVec 30))) (_ BitVec 3)
  ((_ extract 2 0) a))

; 16 banks: 128 consecutive bytes touch each once.
(define-fun rngd/dm-bank ((a (_ BitVec 30))) (_ BitVec 4)
  ((_ extract 6 3) a))

; 4,096 rows.
(define-fun rngd/dm-row ((a (_ BitVec 30))) (_ BitVec 12)
  ((_ extract 18 7) a))

; 32 slices of a DMN, slice_stride = 4 MiB.
(define-fun rngd/dm-slice ((a (_ BitVec 30))) (_ BitVec 5)
  ((_ extract 26 22) a))

; 8 DMNs of a cluster, DMN_stride = 32 slices.
(define-fun rngd/dm-dmn ((a (_ BitVec 30))) (_ BitVec 3)
  ((_ extract 29 27) a))

; The address of a place.
(define-fun rngd/dm-address ((dmn (_ BitVec 3)) (slice (_ BitVec 5)) (row (_ BitVec 12)) (bank (_ BitVec 4)) (byte (_ BitVec 3))) (_ BitVec 30)
  (concat dmn slice #b000 row bank byte))

; claim: Every legal HBM address is the address of its own place, and every legal place is the place of its own legal address,
;   under both readings of the channel XOR. So the map is a bijection between the 48 GiB and the places of 2 stacks, 16
;   channels, 3 slices, 4 bank groups, 4 banks, 16 Ki rows and 2 KiB.
; relied on by: dmaverify.targets.address_maps.hbm_map
; quotes: encodings/rngd/memory.smt2#rngd/hbm-legal
; quotes: encodings/rngd/memory.smt2#rngd/hbm-stack
; quotes: encodings/rngd/memory.smt2#rngd/hbm-channel
; quotes: encodings/rngd/memory.smt2#rngd/hbm-channel-prose
; quotes: encodings/rngd/memory.smt2#rngd/hbm-bank-group
; quotes: encodings/rngd/memory.smt2#rngd/hbm-bank
; quotes: encodings/rngd/memory.smt2#rngd/hbm-slice
; quotes: encodings/rngd/memory.smt2#rngd/hbm-row
; quotes: encodings/rngd/memory.smt2#rngd/hbm-byte
; quotes: encodings/rngd/memory.smt2#rngd/hbm-place-legal
; quotes: encodings/rngd/memory.smt2#rngd/hbm-rest
; quotes: encodings/rngd/memory.smt2#rngd/hbm-close
; quotes: encodings/rngd/memory.smt2#rngd/hbm-close-prose
; tamper: (concat #b0 ((_ extract 20 20) a)) ==> (concat #b0 ((_ extract 21 21) a))
; tamper: (bvult a #xC00000000) ==> (bvult a #xC00000001)
; tamper: (not (= slice #b11)) ==> (= slice slice)
(set-logic QF_BV)
(set-info :status unsat)

(define-fun rngd/hbm-legal ((a (_ BitVec 36))) Bool
  (bvult a #xC00000000))
(define-fun rngd/hbm-stack ((a (_ BitVec 36))) (_ BitVec 1)
  ((_ extract 8 8) a))
(define-fun rngd/hbm-channel ((a (_ BitVec 36))) (_ BitVec 4)
  (concat (bvxor ((_ extract 12 12) a) ((_ extract 16 16) a) ((_ extract 20 20) a) ((_ extract 24 24) a) ((_ extract 28 28) a)) (bvxor ((_ extract 11 11) a) ((_ extract 15 15) a) ((_ extract 19 19) a) ((_ extract 23 23) a) ((_ extract 27 27) a)) (bvxor ((_ extract 10 10) a) ((_ extract 14 14) a) ((_ extract 18 18) a) ((_ extract 22 22) a) ((_ extract 26 26) a)) (bvxor ((_ extract 9 9) a) ((_ extract 13 13) a) ((_ extract 17 17) a) ((_ extract 21 21) a) ((_ extract 25 25) a))))
(define-fun rngd/hbm-channel-prose ((a (_ BitVec 36))) (_ BitVec 4)
  (concat (bvxor ((_ extract 12 12) a) ((_ extract 16 16) a) ((_ extract 24 24) a) ((_ extract 28 28) a)) (bvxor ((_ extract 11 11) a) ((_ extract 15 15) a) ((_ extract 23 23) a) ((_ extract 27 27) a)) (bvxor ((_ extract 10 10) a) ((_ extract 14 14) a) ((_ extract 22 22) a) ((_ extract 26 26) a)) (bvxor ((_ extract 9 9) a) ((_ extract 13 13) a) ((_ extract 21 21) a) ((_ extract 25 25) a))))
(define-fun rngd/hbm-bank-group ((a (_ BitVec 36))) (_ BitVec 2)
  (concat ((_ extract 19 19) a) ((_ extract 13 13) a)))
(define-fun rngd/hbm-bank ((a (_ BitVec 36))) (_ BitVec 2)
  ((_ extract 18 17) a))
(define-fun rngd/hbm-slice ((a (_ BitVec 36))) (_ BitVec 2)
  (ite (= ((_ extract 34 34) a) #b1) #b10 (concat #b0 ((_ extract 20 20) a))))
(define-fun rngd/hbm-row ((a (_ BitVec 36))) (_ BitVec 14)
  (concat (ite (= ((_ extract 34 34) a) #b1) ((_ extract 20 20) a) ((_ extract 35 35) a)) ((_ extract 33 21) a)))
(define-fun rngd/hbm-byte ((a (_ BitVec 36))) (_ BitVec 11)
  (concat ((_ extract 16 14) a) ((_ extract 7 0) a)))
(define-fun rngd/hbm-place-legal ((slice (_ BitVec 2))) Bool
  (not (= slice #b11)))
(define-fun rngd/hbm-rest ((stack (_ BitVec 1)) (group (_ BitVec 2)) (bank (_ BitVec 2)) (slice (_ BitVec 2)) (row (_ BitVec 14)) (byte (_ BitVec 11))) (_ BitVec 36)
  (concat (ite (= slice #b10) #b0 ((_ extract 13 13) row)) (ite (= slice #b10) #b1 #b0) ((_ extract 12 0) row)
    (ite (= slice #b10) ((_ extract 13 13) row) ((_ extract 0 0) slice)) ((_ extract 1 1) group) bank ((_ extract 10 8) byte)
    ((_ extract 0 0) group) #b0000 stack ((_ extract 7 0) byte)))
(define-fun rngd/hbm-close ((a (_ BitVec 36)) (c (_ BitVec 4))) (_ BitVec 36)
  (concat ((_ extract 35 13) a) (concat (bvxor ((_ extract 3 3) c) ((_ extract 16 16) a) ((_ extract 20 20) a) ((_ extract 24 24) a) ((_ extract 28 28) a)) (bvxor ((_ extract 2 2) c) ((_ extract 15 15) a) ((_ extract 19 19) a) ((_ extract 23 23) a) ((_ extract 27 27) a)) (bvxor ((_ extract 1 1) c) ((_ extract 14 14) a) ((_ extract 18 18) a) ((_ extract 22 22) a) ((_ extract 26 26) a)) (bvxor ((_ extract 0 0) c) ((_ extract 13 13) a) ((_ extract 17 17) a) ((_ extract 21 21) a) ((_ extract 25 25) a))) ((_ extract 8 0) a)))
(define-fun rngd/hbm-close-prose ((a (_ BitVec 36)) (c (_ BitVec 4))) (_ BitVec 36)
  (concat ((_ extract 35 13) a) (concat (bvxor ((_ extract 3 3) c) ((_ extract 16 16) a) ((_ extract 24 24) a) ((_ extract 28 28) a)) (bvxor ((_ extract 2 2) c) ((_ extract 15 15) a) ((_ extract 23 23) a) ((_ extract 27 27) a)) (bvxor ((_ extract 1 1) c) ((_ extract 14 14) a) ((_ extract 22 22) a) ((_ extract 26 26) a)) (bvxor ((_ extract 0 0) c) ((_ extract 13 13) a) ((_ extract 21 21) a) ((_ extract 25 25) a))) ((_ extract 8 0) a)))

(declare-const address (_ BitVec 36))
(declare-const stack (_ BitVec 1))
(declare-const channel (_ BitVec 4))
(declare-const group (_ BitVec 2))
(declare-const bank (_ BitVec 2))
(declare-const slice (_ BitVec 2))
(declare-const row (_ BitVec 14))
(declare-const byte (_ BitVec 11))
(define-fun rest-of-address () (_ BitVec 36)
  (rngd/hbm-rest (rngd/hbm-stack address) (rngd/hbm-bank-group address) (rngd/hbm-bank address) (rngd/hbm-slice address)
    (rngd/hbm-row address) (rngd/hbm-byte address)))
(define-fun made () (_ BitVec 36)
  (rngd/hbm-close (rngd/hbm-rest stack group bank slice row byte) channel))
(define-fun made-prose () (_ BitVec 36)
  (rngd/hbm-close-prose (rngd/hbm-rest stack group bank slice row byte) channel))
(define-fun same-place ((a (_ BitVec 36))) Bool
  (and (rngd/hbm-legal a) (= (rngd/hbm-stack a) stack) (= (rngd/hbm-bank-group a) group) (= (rngd/hbm-bank a) bank)
    (= (rngd/hbm-slice a) slice) (= (rngd/hbm-row a) row) (= (rngd/hbm-byte a) byte)))
(assert (rngd/hbm-legal address))
(assert (rngd/hbm-place-legal slice))
(assert (not (and
  (rngd/hbm-place-legal (rngd/hbm-slice address))
  (= (rngd/hbm-close rest-of-address (rngd/hbm-channel address)) address)
  (= (rngd/hbm-close-prose rest-of-address (rngd/hbm-channel-prose address)) address)
  (same-place made)
  (= (rngd/hbm-channel made) channel)
  (same-place made-prose)
  (= (rngd/hbm-channel-prose made-prose) channel))))
(check-sat)

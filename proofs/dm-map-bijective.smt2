; claim: Every legal DM address of a cluster is the address of its own place, and every place is the place of its own legal
;   address. So the map is a bijection between 256 slices of 512 KiB and the places of 8 DMNs, 32 slices, 16 banks, 4,096
;   rows and 8 bytes.
; relied on by: dmaverify.targets.address_maps.dm_map
; quotes: encodings/rngd/memory.smt2#rngd/dm-legal
; quotes: encodings/rngd/memory.smt2#rngd/dm-byte
; quotes: encodings/rngd/memory.smt2#rngd/dm-bank
; quotes: encodings/rngd/memory.smt2#rngd/dm-row
; quotes: encodings/rngd/memory.smt2#rngd/dm-slice
; quotes: encodings/rngd/memory.smt2#rngd/dm-dmn
; quotes: encodings/rngd/memory.smt2#rngd/dm-address
; tamper: ((_ extract 6 3) a) ==> ((_ extract 7 4) a)
; tamper: (= ((_ extract 21 19) a) #b000) ==> (= ((_ extract 21 19) a) #b001)
(set-logic QF_BV)
(set-info :status unsat)

(define-fun rngd/dm-legal ((a (_ BitVec 30))) Bool
  (= ((_ extract 21 19) a) #b000))
(define-fun rngd/dm-byte ((a (_ BitVec 30))) (_ BitVec 3)
  ((_ extract 2 0) a))
(define-fun rngd/dm-bank ((a (_ BitVec 30))) (_ BitVec 4)
  ((_ extract 6 3) a))
(define-fun rngd/dm-row ((a (_ BitVec 30))) (_ BitVec 12)
  ((_ extract 18 7) a))
(define-fun rngd/dm-slice ((a (_ BitVec 30))) (_ BitVec 5)
  ((_ extract 26 22) a))
(define-fun rngd/dm-dmn ((a (_ BitVec 30))) (_ BitVec 3)
  ((_ extract 29 27) a))
(define-fun rngd/dm-address ((dmn (_ BitVec 3)) (slice (_ BitVec 5)) (row (_ BitVec 12)) (bank (_ BitVec 4)) (byte (_ BitVec 3))) (_ BitVec 30)
  (concat dmn slice #b000 row bank byte))

(declare-const address (_ BitVec 30))
(declare-const dmn (_ BitVec 3))
(declare-const slice (_ BitVec 5))
(declare-const row (_ BitVec 12))
(declare-const bank (_ BitVec 4))
(declare-const byte (_ BitVec 3))
(define-fun made () (_ BitVec 30)
  (rngd/dm-address dmn slice row bank byte))
(assert (rngd/dm-legal address))
(assert (not (and
  (= (rngd/dm-address (rngd/dm-dmn address) (rngd/dm-slice address) (rngd/dm-row address) (rngd/dm-bank address)
    (rngd/dm-byte address)) address)
  (rngd/dm-legal made)
  (= (rngd/dm-dmn made) dmn)
  (= (rngd/dm-slice made) slice)
  (= (rngd/dm-row made) row)
  (= (rngd/dm-bank made) bank)
  (= (rngd/dm-byte made) byte))))
(check-sat)

; What the engine does, as definitions that proofs/ quotes. Integers without div and mod: the window that an address lies in, and the
; strip that it belongs to, are given by their numbers (core/in-window of encodings/core/sequencer.smt2 says when a number is right).

; bytes of the next burst of a side of page type: what is left, but no further than the end of the window
(define-fun idma/page-step ((address Int) (rest Int) (window Int) (index Int)) Int
  (ite (< (- (* window (+ index 1)) address) rest) (- (* window (+ index 1)) address) rest))

; the same of two coupled sides: no further than either
(define-fun idma/coupled-step ((one Int) (other Int)) Int
  (ite (< one other) one other))

; strides: what the inner dimensions have moved when they are through, the pitch of an index, and what to program for a pitch
(define-fun idma/pitch ((programmed Int) (moved Int)) Int
  (+ programmed moved))
(define-fun idma/programmed ((pitch Int) (moved Int)) Int
  (- pitch moved))
(define-fun idma/moved ((inner Int) (reps Int) (pitch Int)) Int
  (+ inner (* (- reps 1) pitch)))

; the part of a row [row, row + length) that the back-end of one strip gets: its first byte and its end
(define-fun idma/slice-first ((row Int) (width Int) (strip Int)) Int
  (ite (< row (* width strip)) (* width strip) row))
(define-fun idma/slice-end ((row Int) (length Int) (width Int) (strip Int)) Int
  (ite (< (* width (+ strip 1)) (+ row length)) (* width (+ strip 1)) (+ row length)))

; TileLink in v0.7.0, on addresses of 32 bits: one bit set; the largest power of two within a number and 2 KiB; the room of a step where
; the page has 2^12 bytes
(define-fun idma/one-bit ((n (_ BitVec 32))) Bool
  (and (distinct n #x00000000) (= #x00000000 (bvand n (bvsub n #x00000001)))))
(define-fun idma/power-within ((n (_ BitVec 32)) (room (_ BitVec 32))) Bool
  (and (idma/one-bit n) (bvule n room) (bvule n #x00000800) (or (= n #x00000800) (bvult (bvsub room n) n))))
(define-fun idma/room-4k ((address (_ BitVec 32))) (_ BitVec 32)
  (bvand #x00001fff (bvsub #x00000800 (bvand address #x00000fff))))

; claim: (256 / 128) * N * 32 < 4096 iff N < 64: 63 consecutive accesses to one bank are answered in time, 64 make
;   exactly 4096 and are not. 256 bytes per cycle of the engine, 128 of a port, 32 slices of a port, timeout 4096 cycles
;   ("Memory Performance").
; relied on by: dmaverify.prove.flow.starvation.starvation_limit.limit_from
; quotes: encodings/core/starvation.smt2#core/answers-in-time
; tamper: (< n 64) ==> (<= n 64)
; tamper: (not (core/answers-in-time 256 128 64 32 4096)) ==> (core/answers-in-time 256 128 64 32 4096)
(set-logic QF_LIA)
(set-info :status unsat)

(define-fun core/answers-in-time ((engine_bytes Int) (port_bytes Int) (run Int) (slices Int) (timeout Int)) Bool
  (< (* engine_bytes (* run slices)) (* timeout port_bytes)))

(declare-const n Int)
(assert (<= 0 n))
(assert (not (and
  (= (core/answers-in-time 256 128 n 32 4096) (< n 64))
  (core/answers-in-time 256 128 63 32 4096)
  (not (core/answers-in-time 256 128 64 32 4096)))))
(check-sat)

; Starvation: how long a request of lowest priority waits behind accesses to one bank.
; The core's definition as SMT-LIB 2, quoted word for word by the theorems in proofs/. The numbers come from the data of
; a machine.
; Source: "Memory Performance" (Bank Starvation, derivation of the 4096-cycle limit).

; (engine_bytes / port_bytes) * run * slices < timeout, multiplied by port_bytes > 0: the wait behind `run` consecutive
; accesses to one bank, for every slice of a port, at the ratio of the engine's width to the port's, ends in time.
(define-fun core/answers-in-time ((engine_bytes Int) (port_bytes Int) (run Int) (slices Int) (timeout Int)) Bool
  (< (* engine_bytes (* run slices)) (* timeout port_bytes)))

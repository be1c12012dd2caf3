; Starvation: how long a request of lowest priority waits behind accesses to one bank, and how runs compose.
; The core's definitions as SMT-LIB 2, quoted word for word by the theorems in proofs/. The numbers come from the data of
; a machine.
; Source: "Memory Performance" (Bank Starvation, derivation of the 4096-cycle limit).

; (engine_bytes / port_bytes) * run * slices < timeout, multiplied by port_bytes > 0: the wait behind `run` consecutive
; accesses to one bank, for every slice of a port, at the ratio of the engine's width to the port's, ends in time.
(define-fun core/answers-in-time ((engine_bytes Int) (port_bytes Int) (run Int) (slices Int) (timeout Int)) Bool
  (< (* engine_bytes (* run slices)) (* timeout port_bytes)))

; The run at the outer end of two joined sequences: that of the near one, which goes on into the other where it is full.
(define-fun core/joined-end ((near Int) (near_length Int) (far Int)) Int
  (ite (< near near_length) near (+ near_length far)))

; The longest run of two joined sequences: in the first, in the second, or across the seam.
(define-fun core/joined-best ((best Int) (suffix Int) (prefix Int) (other_best Int)) Int
  (ite (and (<= other_best best) (<= (+ suffix prefix) best)) best
    (ite (<= other_best (+ suffix prefix)) (+ suffix prefix) other_best)))

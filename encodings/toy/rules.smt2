; The predicates of the toy machine, in SMT-LIB 2: true where the rule holds.
; The name is the rule's id, the parameters are its `ports` in order, all Int. Allowed: + - * div mod abs = distinct < <= > >= and or
; not => ite let, integers. A divisor must be a number, a limit (limits are at least 1), a port that is at least 1, or guarded:
; (or (< d 1) (= 0 (mod n d))).

(define-fun toy/packet-max ((packet_bytes Int) (packet_max Int)) Bool
  (<= 1 packet_bytes packet_max))

(define-fun toy/align ((write_gcd Int) (line_bytes Int)) Bool
  (= 0 (mod write_gcd line_bytes)))

(define-fun toy/small-capacity ((base_bytes Int) (end_bytes Int) (small_bytes_max Int)) Bool
  (and (<= 0 base_bytes) (<= end_bytes small_bytes_max)))

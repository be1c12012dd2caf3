; The predicates of the AMD NPU shim DMA: true where the rule holds. Parameters are the ports of target.toml, in order.

(define-fun shim/dims-max ((dimension Int) (dimensions Int) (entries_max Int)) Bool
  (or (distinct dimension 0) (<= dimensions entries_max)))

(define-fun shim/size-0 ((dimension Int) (dimensions Int) (count Int) (granule_bytes Int) (d0_words_max Int)) Bool
  (or (distinct dimension 0) (= dimensions 1) (<= count (* granule_bytes d0_words_max))))

(define-fun shim/size-1 ((dimension Int) (count Int) (d1_max Int)) Bool
  (or (distinct dimension 1) (<= count d1_max)))

(define-fun shim/iteration ((dimension Int) (count Int) (iteration_max Int)) Bool
  (or (distinct dimension 3) (<= count iteration_max)))

(define-fun shim/stride ((dimension Int) (count Int) (stride_bytes Int) (granule_bytes Int) (stride_words_max Int)) Bool
  (or (= dimension 0) (= count 1) (and (= dimension 3) (= stride_bytes 0))
      (and (<= granule_bytes stride_bytes (* granule_bytes stride_words_max)) (= 0 (mod stride_bytes granule_bytes)))))

(define-fun shim/words ((packet_bytes Int) (read_gcd Int) (write_gcd Int) (granule_bytes Int)) Bool
  (and (= 0 (mod packet_bytes granule_bytes)) (= 0 (mod read_gcd granule_bytes)) (= 0 (mod write_gcd granule_bytes))))

(define-fun shim/linear ((dimension Int) (count Int) (stride_bytes Int) (inside_bytes Int)) Bool
  (or (= dimension 0) (= count 1) (= stride_bytes inside_bytes)))

; The rules of RNGD: one predicate for each [rule."..."] of target.toml, under its id, over its ports, true where the rule holds.
; Integers only. Ports are those of encodings/core/scopes.toml and the limits of target.toml.

; alignment, as the hardware documents state it
(define-fun rngd/dm-write-align ((write_gcd Int) (dm_align Int)) Bool
  (= 0 (mod write_gcd dm_align)))
(define-fun rngd/dm-packet-multiple ((packet_bytes Int) (dm_align Int)) Bool
  (= 0 (mod packet_bytes dm_align)))
(define-fun rngd/hbm-dm-align
  ((read_gcd Int) (write_gcd Int) (packet_bytes Int) (hbm_dm_align Int) (hbm_dm_read_align Int)) Bool
  (and (= 0 (mod read_gcd hbm_dm_read_align)) (= 0 (mod write_gcd hbm_dm_align)) (= 0 (mod packet_bytes hbm_dm_align))))
(define-fun rngd/dm-hbm-align ((read_gcd Int) (write_gcd Int) (packet_bytes Int) (dm_hbm_align Int)) Bool
  (and (= 0 (mod read_gcd dm_hbm_align)) (= 0 (mod write_gcd dm_hbm_align)) (= 0 (mod packet_bytes dm_hbm_align))))

; packets of DMA
(define-fun rngd/packet-max ((packet_bytes Int) (packet_max Int)) Bool
  (<= 1 packet_bytes packet_max))
(define-fun rngd/packet-contiguous ((packet_bytes Int) (burst_bytes Int)) Bool
  (<= packet_bytes burst_bytes))
(define-fun rngd/packet-divides ((inner_count Int) (packet_units Int)) Bool
  (or (<= packet_units 1) (= 0 (mod inner_count packet_units))))
(define-fun rngd/packet-one-byte ((packet_bytes Int) (amount_bytes Int)) Bool
  (or (distinct packet_bytes 1) (<= amount_bytes 1)))
(define-fun rngd/command-whole-bytes ((packet_bits Int) (read_gcd_bits Int) (write_gcd_bits Int)) Bool
  (and (= 0 (mod packet_bits 8)) (= 0 (mod read_gcd_bits 8)) (= 0 (mod write_gcd_bits 8))))

; loop entries of DMA
(define-fun rngd/entries-max ((entries Int) (entries_max Int)) Bool
  (<= entries entries_max))
(define-fun rngd/iterations-max ((iterations Int) (iterations_max Int)) Bool
  (<= iterations iterations_max))
(define-fun rngd/stride-range ((stride_low Int) (stride_high Int) (stride_max Int)) Bool
  (and (<= (- (- stride_max) 1) stride_low) (<= stride_high stride_max)))

; places, capacities, engines
(define-fun rngd/slice-capacity ((base_bytes Int) (end_bytes Int) (slice_bytes_max Int)) Bool
  (and (<= 0 base_bytes) (<= end_bytes slice_bytes_max)))
(define-fun rngd/hbm-capacity ((base_bytes Int) (end_bytes Int) (hbm_bytes_max Int)) Bool
  (and (<= 0 base_bytes) (<= end_bytes hbm_bytes_max)))
(define-fun rngd/place-max
  ((chip_end Int) (cluster_end Int) (slice_end Int) (chips_max Int) (clusters_max Int) (slices_max Int)) Bool
  (and (<= chip_end chips_max) (<= cluster_end clusters_max) (<= slice_end slices_max)))
(define-fun rngd/spatial-sizes ((clusters Int) (slices Int) (clusters_least Int) (slices_least Int)) Bool
  (and (or (= clusters 1) (= clusters 2)) (or (= slices 64) (= slices 128) (= slices 256))
       (>= clusters clusters_least) (>= slices slices_least)))
(define-fun rngd/padded-split ((padded_splits Int)) Bool
  (= padded_splits 0))
(define-fun rngd/engine-index
  ((engine_chip Int) (engine_cluster Int) (engine_dmn Int) (chips_max Int) (clusters_max Int) (cluster_engines_max Int)) Bool
  (and (<= 0 engine_chip) (< engine_chip chips_max) (<= 0 engine_cluster) (< engine_cluster clusters_max)
       (<= 0 engine_dmn) (< engine_dmn cluster_engines_max)))
(define-fun rngd/engine-local ((engine_chip Int) (engine_cluster Int) (chip_read Int) (cluster_read Int)) Bool
  (and (= engine_chip chip_read) (= engine_cluster cluster_read)))
(define-fun rngd/commands-serial ((commands Int)) Bool
  (<= commands 1))

; routes
(define-fun rngd/route ((route Int)) Bool (= route 1))
(define-fun rngd/host-route ((route Int)) Bool (= route 1))
(define-fun rngd/spm-same-chip ((same_chip Int)) Bool (= same_chip 1))
(define-fun rngd/spm-one-dmn ((stride_low Int) (stride_high Int) (spm_stride Int)) Bool
  (and (< (- spm_stride) stride_low) (< stride_high spm_stride)))
(define-fun rngd/spm-dmns ((slice_end Int) (spm_dmns_max Int)) Bool
  (<= slice_end spm_dmns_max))
(define-fun rngd/pcie ((same_chip Int)) Bool (= same_chip 1))
(define-fun rngd/dmn-local ((same_dmn Int)) Bool (= same_dmn 1))
(define-fun rngd/cross-cluster-sync ((same_cluster Int)) Bool (= same_cluster 1))

; advice with a price: told where a tenth of the cycles or more could be saved
(define-fun rngd/packet-small ((packet_bytes Int) (best_packet_bytes Int) (cycles Int) (packet_cycles Int)) Bool
  (or (>= packet_bytes best_packet_bytes) (<= (* 10 (- cycles packet_cycles)) cycles)))
(define-fun rngd/hbm-windows ((crossing_windows Int) (partial_windows Int) (cycles Int) (aligned_cycles Int)) Bool
  (or (= 0 (+ crossing_windows partial_windows)) (<= (* 10 (- cycles aligned_cycles)) cycles)))
(define-fun rngd/one-stack ((channels_used Int) (channels_all Int) (cycles Int) (spread_cycles Int)) Bool
  (or (> (* 2 channels_used) channels_all) (<= (* 10 (- cycles spread_cycles)) cycles)))
(define-fun rngd/one-dmn ((port_groups Int) (cycles Int) (alternating_cycles Int)) Bool
  (or (>= port_groups 2) (<= (* 10 (- cycles alternating_cycles)) cycles)))
(define-fun rngd/engine-dmn ((engines_away Int)) Bool (= 0 engines_away))
(define-fun rngd/tensor-unit ((switch_size Int) (cycles Int)) Bool
  (or (< cycles 0) (= switch_size 0) (>= switch_size 256)))
(define-fun rngd/pcie-receiver ((link_senders Int) (link_cycles Int) (cycles Int)) Bool
  (or (<= link_senders 1) (<= (* 10 link_cycles) cycles)))

; types
(define-fun rngd/dtype-known ((dtype_known Int)) Bool (= dtype_known 1))
(define-fun rngd/dtype-removed ((dtype_current Int)) Bool (= dtype_current 1))
(define-fun rngd/dtype-packing ((total_bits Int)) Bool (= 0 (mod total_bits 8)))

; broadcast
(define-fun rngd/store-broadcast ((broadcast_axes Int)) Bool (= broadcast_axes 0))
(define-fun rngd/hbm-broadcast ((broadcast_axes Int)) Bool (= broadcast_axes 0))

; Fetch and Commit
(define-fun rngd/access-entries-max ((entries Int) (access_entries_max Int)) Bool
  (<= entries access_entries_max))
(define-fun rngd/access-iterations-max ((iterations Int) (access_iterations_max Int)) Bool
  (<= iterations access_iterations_max))
(define-fun rngd/access-bytes ((access_bytes Int)) Bool
  (or (= access_bytes 1) (= access_bytes 2) (= access_bytes 4) (= access_bytes 8) (= access_bytes 16) (= access_bytes 32)))
(define-fun rngd/access-tier ((sliced Int)) Bool (= sliced 1))
(define-fun rngd/access-divides ((packet_bytes Int) (access_bytes Int)) Bool
  (or (<= access_bytes 1) (= 0 (mod packet_bytes access_bytes))))
(define-fun rngd/sequencer-packet-bytes ((packet_bytes Int)) Bool
  (or (= packet_bytes 1) (= packet_bytes 2) (= packet_bytes 4) (= packet_bytes 8) (= packet_bytes 16) (= packet_bytes 32)))
(define-fun rngd/innermost-entry ((inner_count Int) (inner_stride Int) (packet_units Int)) Bool
  (or (<= packet_units 1)
      (and (or (= inner_stride 0) (= inner_stride 1)) (= 0 (mod inner_count packet_units)))))
(define-fun rngd/fetch-packet ((packet_bytes Int) (fetch_packet_multiple Int)) Bool
  (= 0 (mod packet_bytes fetch_packet_multiple)))
(define-fun rngd/commit-packet ((packet_bytes Int)) Bool
  (or (= packet_bytes 8) (= packet_bytes 16) (= packet_bytes 24) (= packet_bytes 32)))
(define-fun rngd/commit-one-write ((runs_per_packet Int) (sub_context Int)) Bool
  (<= runs_per_packet (ite (= sub_context 1) 4 1)))
(define-fun rngd/commit-stride ((stride_gcd Int) (commit_multiple Int)) Bool
  (= 0 (mod stride_gcd commit_multiple)))
(define-fun rngd/commit-base ((base_bytes Int) (commit_multiple Int)) Bool
  (= 0 (mod base_bytes commit_multiple)))
(define-fun rngd/access-places ((clusters Int) (slices Int)) Bool
  (and (<= 1 clusters 2) (or (= slices 1) (= slices 64) (= slices 128) (= slices 256))))

; gather and scatter
(define-fun rngd/index-dtype ((index_bits Int) (index_number_bits Int)) Bool (= index_bits index_number_bits))
(define-fun rngd/index-integer ((index_integer Int)) Bool (= index_integer 1))
(define-fun rngd/index-scale ((index_remainder Int)) Bool (= index_remainder 0))
(define-fun rngd/index-fits ((index_most Int) (index_number_max Int)) Bool (<= index_most index_number_max))
(define-fun rngd/index-list ((scaled Int) (index_list_bytes Int) (index_list_bytes_max Int)) Bool
  (or (= scaled 1) (<= index_list_bytes index_list_bytes_max)))
(define-fun rngd/index-tier ((scaled Int) (index_with_table Int) (index_with_payload Int)) Bool
  (or (and (= scaled 1) (= index_with_table 1)) (and (not (= scaled 1)) (= index_with_payload 1))))
(define-fun rngd/indirect-route ((table_sliced Int) (payload_sliced Int)) Bool
  (and (= table_sliced 0) (= payload_sliced 1)))
(define-fun rngd/scatter-key ((key_outside Int)) Bool (= key_outside 0))
(define-fun rngd/scatter-scaled ((scaled Int)) Bool (= scaled 1))
(define-fun rngd/gather-replicates ((replicated_axes Int)) Bool (= replicated_axes 0))

; alignment, as the vendor's library asserts it
(define-fun rngd/std-tail ((tail_bits Int) (std_align Int)) Bool
  (= 0 (mod tail_bits (* 8 std_align))))
(define-fun rngd/std-stride ((tail_stride_bits Int) (std_align Int)) Bool
  (= 0 (mod tail_stride_bits (* 8 std_align))))
(define-fun rngd/std-places
  ((source_chips Int) (dest_chips Int) (source_clusters Int) (dest_clusters Int) (source_slices Int) (dest_slices Int)) Bool
  (and (= source_chips dest_chips) (= source_clusters dest_clusters) (= source_slices dest_slices)))

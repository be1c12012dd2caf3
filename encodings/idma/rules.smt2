; The rules of iDMA: one predicate for each [rule."..."] of target.toml, under its id, over its ports, true where the rule holds.
; Integers only. Ports are those of encodings/core/scopes.toml, those of the target's own scopes, and its limits.

(define-fun idma/zero-length ((length Int)) Bool
  (<= 1 length))
(define-fun idma/length-max ((length Int) (length_max Int)) Bool
  (<= length length_max))
(define-fun idma/contiguous ((packet_bytes Int) (burst_bytes Int)) Bool
  (<= packet_bytes burst_bytes))
(define-fun idma/dims-max ((dims Int) (dims_max Int)) Bool
  (<= dims dims_max))
(define-fun idma/reps-max ((reps_high Int) (reps_max Int)) Bool
  (<= reps_high reps_max))
(define-fun idma/address-wrap ((addressed Int) (low Int) (end Int) (space Int)) Bool
  (or (= addressed 0) (and (<= 0 low) (<= end space))))
(define-fun idma/protocol ((port Int)) Bool
  (= port 1))
(define-fun idma/pattern ((memory Int)) Bool
  (= memory 1))
(define-fun idma/burst-incr ((burst_type Int)) Bool
  (= burst_type 1))
(define-fun idma/over-fetch ((over Int)) Bool
  (= over 0))
(define-fun idma/over-fetch-device ((torn Int)) Bool
  (= torn 0))
(define-fun idma/overlap ((early Int)) Bool
  (< early 0))
(define-fun idma/rows-twice ((twice Int)) Bool
  (< twice 0))
(define-fun idma/in-place ((shared Int)) Bool
  (= shared 0))
(define-fun idma/wait ((early Int)) Bool
  (< early 0))
(define-fun idma/wait-reread ((reread Int)) Bool
  (< reread 0))
(define-fun idma/wait-rewritten ((rewritten Int)) Bool
  (< rewritten 0))
(define-fun idma/error-address ((hit Int)) Bool
  (= hit 1))
(define-fun idma/error-replay ((on_error Int)) Bool
  (distinct on_error 3))
(define-fun idma/pattern-tier ((tier_pattern Int) (protocol_pattern Int)) Bool
  (= tier_pattern protocol_pattern))
(define-fun idma/pattern-layout ((laid Int)) Bool
  (= laid 1))
(define-fun idma/tilelink-word ((protocol Int) (bytes Int) (tilelink_most Int)) Bool
  (or (distinct protocol 3) (<= bytes tilelink_most)))
(define-fun idma/known-defect ((known Int)) Bool
  (= known 0))
(define-fun idma/wrong-on-release ((certain Int)) Bool
  (= certain 0))
(define-fun idma/leaves-array ((first Int) (past Int) (long Int)) Bool
  (and (<= 0 first) (<= past long)))
(define-fun idma/other-front-end ((foreign Int)) Bool
  (= foreign 0))
(define-fun idma/reserved-bits ((reserved Int)) Bool
  (= reserved 0))
(define-fun idma/compute ((computes Int)) Bool
  (= computes 0))
(define-fun idma/mid-end-released ((shared_out Int)) Bool
  (= shared_out 0))
(define-fun idma/no-region ((unshared Int)) Bool
  (= unshared 0))
(define-fun idma/decoupled ((decoupled Int) (length Int) (buffer Int)) Bool
  (or (= decoupled 0) (<= length buffer)))
(define-fun idma/llen-inert ((inert_llen Int)) Bool
  (= inert_llen 0))
(define-fun idma/error-action ((on_error Int) (error_actions Int)) Bool
  (<= on_error error_actions))
(define-fun idma/error-handled ((on_error Int) (handled Int)) Bool
  (or (= on_error 0) (= handled 1)))
(define-fun idma/error-abort ((on_error Int) (transfers Int)) Bool
  (or (distinct on_error 2) (<= transfers 1)))
(define-fun idma/error-continue ((on_error Int)) Bool
  (distinct on_error 1))
(define-fun idma/burst-advance ((bytes Int)) Bool
  (<= 1 bytes))
(define-fun idma/burst-order ((address Int) (wanted Int)) Bool
  (= address wanted))
(define-fun idma/burst-complete ((last Int) (left Int)) Bool
  (or (= last 0) (= left 0)))
(define-fun idma/burst-pairs ((bytes Int) (pair_bytes Int)) Bool
  (= bytes pair_bytes))
(define-fun idma/burst-wrap ((addressed Int) (address Int) (bytes Int) (space Int)) Bool
  (or (= addressed 0) (<= (+ address bytes) space)))
(define-fun idma/burst-bus-address ((bus Int) (bus_wanted Int)) Bool
  (= bus bus_wanted))
(define-fun idma/burst-length-field ((field Int) (field_wanted Int)) Bool
  (= field field_wanted))
(define-fun idma/page-4k ((protocol Int) (address Int) (bytes Int) (page_bytes Int)) Bool
  (or (distinct protocol 0) (< bytes 1) (= (div address page_bytes) (div (- (+ address bytes) 1) page_bytes))))
(define-fun idma/axi-beats ((protocol Int) (beats Int) (axi_beats_max Int)) Bool
  (or (distinct protocol 0) (<= beats axi_beats_max)))
(define-fun idma/burst-limit ((protocol Int) (beats Int) (beats_limit Int)) Bool
  (or (distinct protocol 0) (<= beats beats_limit)))
(define-fun idma/word-access ((protocol Int) (address Int) (bytes Int) (word Int)) Bool
  (or (= protocol 0) (= protocol 3) (< word 1) (<= (+ (mod address word) bytes) word)))
(define-fun idma/tilelink-size ((protocol Int) (bytes Int) (power Int)) Bool
  (or (distinct protocol 3) (= bytes power)))
(define-fun idma/tilelink-aligned ((protocol Int) (address Int) (bytes Int)) Bool
  (or (distinct protocol 3) (< bytes 1) (= 0 (mod address bytes))))
(define-fun idma/tilelink-page ((protocol Int) (address Int) (bytes Int) (tilelink_page_bytes Int)) Bool
  (or (distinct protocol 3) (< bytes 1) (= (div address tilelink_page_bytes) (div (- (+ address bytes) 1) tilelink_page_bytes))))
(define-fun idma/tilelink-beats ((protocol Int) (write Int) (beats Int) (tilelink_write_beats Int)) Bool
  (or (distinct protocol 3) (= write 0) (<= beats tilelink_write_beats)))
(define-fun idma/desc-aligned ((place Int) (desc_bytes Int)) Bool
  (= 0 (mod place desc_bytes)))
(define-fun idma/desc-cycle ((again Int)) Bool
  (= again 0))
(define-fun idma/desc-next ((ends Int)) Bool
  (= ends 1))
(define-fun idma/desc-crowded ((crowded Int)) Bool
  (= crowded 0))
(define-fun idma/desc-clobbered ((clobbered Int)) Bool
  (= clobbered 0))
(define-fun idma/desc-sourced ((sourced Int)) Bool
  (= sourced 0))
(define-fun idma/desc-burst ((src_burst Int) (dst_burst Int)) Bool
  (and (= src_burst 1) (= dst_burst 1)))
(define-fun idma/desc-empty ((length Int)) Bool
  (<= 1 length))
(define-fun idma/event-period ((worst Int) (period Int)) Bool
  (<= worst period))

(define-fun idma/events-max ((number Int) (has Int)) Bool
  (or (= has 0) (< number has)))

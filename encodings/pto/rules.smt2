; The predicates of the Ascend A5 rules, in SMT-LIB 2: true where the rule holds.
; The name is the rule's id, the parameters are its `ports` in order, all Int.

(define-fun pto/n-burst ((rows Int) (count_max Int)) Bool
  (<= 1 rows count_max))

(define-fun pto/len-burst ((row_bytes Int) (count_max Int)) Bool
  (<= 1 row_bytes count_max))

(define-fun pto/text-width ((rows Int) (row_bytes Int) (text_count_max Int)) Bool
  (and (<= rows text_count_max) (<= row_bytes text_count_max)))

(define-fun pto/loop-size ((inner_count Int) (outer_count Int) (count_max Int)) Bool
  (and (<= 1 inner_count count_max) (<= 1 outer_count count_max)))

(define-fun pto/gm-stride ((count Int) (stride_bytes Int) (gm_stride_max Int)) Bool
  (or (<= count 1) (<= 0 stride_bytes gm_stride_max)))

(define-fun pto/ub-stride ((count Int) (stride_bytes Int) (ub_stride_max Int)) Bool
  (or (<= count 1) (<= 0 stride_bytes ub_stride_max)))

(define-fun pto/pad-count ((left_count Int) (right_count Int) (pad_count_max Int)) Bool
  (and (<= 0 left_count pad_count_max) (<= 0 right_count pad_count_max)))

(define-fun pto/pad-without-select ((padded Int) (left_count Int) (right_count Int)) Bool
  (or (= padded 1) (and (= left_count 0) (= right_count 0))))

(define-fun pto/cache-ctl ((cache_ctl Int) (cache_ctl_max Int)) Bool
  (<= 0 cache_ctl cache_ctl_max))

(define-fun pto/stream-id ((stream_id Int) (stream_id_max Int)) Bool
  (<= 0 stream_id stream_id_max))

(define-fun pto/item-width ((read_item_bytes Int) (write_item_bytes Int)) Bool
  (= read_item_bytes write_item_bytes))

(define-fun pto/pad-value ((pad_bytes Int) (write_item_bytes Int) (pad_zero Int)) Bool
  (or (= pad_bytes write_item_bytes) (= pad_zero 1)))

(define-fun pto/pad-type ((pad_listed Int)) Bool (= pad_listed 1))

(define-fun pto/tail-block ((row_bytes Int) (padded Int) (ub_line_bytes Int)) Bool
  (or (= padded 1) (= 0 (mod row_bytes ub_line_bytes))))

(define-fun pto/ub-align ((base_bytes Int) (ub_line_bytes Int)) Bool
  (= 0 (mod base_bytes ub_line_bytes)))

(define-fun pto/ub-pitch ((count Int) (stride_bytes Int) (row_bytes Int) (padded Int) (ub_line_bytes Int)) Bool
  (or (<= count 1) (= 0 (mod stride_bytes ub_line_bytes)) (and (= stride_bytes row_bytes) (= padded 0))))

(define-fun pto/compact ((count Int) (stride_bytes Int) (row_bytes Int) (padded Int) (ub_line_bytes Int)) Bool
  (or (<= count 1) (= 0 (mod stride_bytes ub_line_bytes)) (= padded 1) (distinct stride_bytes row_bytes)))

(define-fun pto/row-overlap ((count Int) (stride_bytes Int) (row_bytes Int)) Bool
  (or (<= count 1) (<= row_bytes stride_bytes)))

(define-fun pto/ub-source-stride ((count Int) (stride_bytes Int) (row_bytes Int)) Bool
  (or (<= count 1) (<= row_bytes stride_bytes)))

(define-fun pto/gm-source-stride ((count Int) (stride_bytes Int) (row_bytes Int)) Bool
  (or (<= count 1) (<= row_bytes stride_bytes)))

(define-fun pto/ub-capacity ((low_bytes Int) (end_bytes Int) (ub_bytes_max Int)) Bool
  (and (<= 0 low_bytes) (<= end_bytes ub_bytes_max)))

(define-fun pto/ub-reserved ((end_bytes Int) (ub_usable_max Int) (ub_bytes_max Int)) Bool
  (or (<= end_bytes ub_usable_max) (> end_bytes ub_bytes_max)))

(define-fun pto/local-rows ((rows Int) (local_max Int)) Bool
  (<= 1 rows local_max))

(define-fun pto/local-length ((row_units Int) (local_max Int)) Bool
  (<= 1 row_units local_max))

(define-fun pto/local-gap ((read_gap Int) (write_gap Int) (local_max Int)) Bool
  (and (<= 0 read_gap local_max) (<= 0 write_gap local_max)))

(define-fun pto/event-id ((event_id Int) (event_id_max Int)) Bool
  (<= 0 event_id event_id_max))

(define-fun pto/buffer-id ((buffer_id Int) (buffer_id_max Int)) Bool
  (<= 0 buffer_id buffer_id_max))

(define-fun pto/operand-count ((operands Int) (operands_least Int) (operands_most Int)) Bool
  (<= operands_least operands operands_most))

(define-fun pto/operand-types ((types Int)) Bool
  (<= types 1))

(define-fun pto/mask-width ((item_bits Int) (mask_bits Int) (mask_item_max Int)) Bool
  (= mask_bits (ite (<= item_bits mask_item_max) item_bits mask_item_max)))

(define-fun pto/vector-align ((address_bytes Int) (align_bytes Int)) Bool
  (= 0 (mod address_bytes align_bytes)))

(define-fun pto/product-shape ((left_rows Int) (left_columns Int) (right_rows Int) (right_columns Int) (result_rows Int) (result_columns Int)) Bool
  (and (= left_columns right_rows) (= left_rows result_rows) (= right_columns result_columns)))

(define-fun pto/tile-room ((live_bytes Int) (room_bytes Int)) Bool
  (<= live_bytes room_bytes))

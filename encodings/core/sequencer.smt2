; Sequencers: loops, addresses, runs, what two counters have in common.
; The core's definitions as SMT-LIB 2, quoted word for word by the theorems in proofs/. Integers only, no machine,
; no div, no mod.
; Source: "Sequencer" (Configuration), "DMA Engine" (DMA Sequencer Internals, Packet size).

; One loop of a nest: its counter moves the address by `stride` each time.
(define-fun core/loop-step ((address Int) (counter Int) (stride Int)) Int
  (+ address (* counter stride)))

; Two loops of a nest, outer then inner. Longer nests repeat core/loop-step.
(define-fun core/nest-address ((base Int) (outer Int) (outer_stride Int) (inner Int) (inner_stride Int)) Int
  (core/loop-step (core/loop-step base outer outer_stride) inner inner_stride))

; Two neighbouring loops walk one contiguous progression, so that they are one loop.
(define-fun core/contiguous ((outer_stride Int) (inner_count Int) (inner_stride Int)) Bool
  (= outer_stride (* inner_count inner_stride)))

; The difference of two counters of one loop lies in this open box.
(define-fun core/difference ((difference Int) (count Int)) Bool
  (and (< (- count) difference) (< difference count)))

; `parts` pieces of at most `unit` are the fewest that hold `size`: ceil(size / unit).
(define-fun core/parts ((size Int) (unit Int) (parts Int)) Bool
  (and (< (* unit (- parts 1)) size) (<= size (* unit parts))))

; `address` lies in the aligned window number `window` of `size` bytes.
(define-fun core/in-window ((address Int) (size Int) (window Int)) Bool
  (and (<= (* size window) address) (< address (* size (+ window 1)))))

; `address` is one of the `size` addresses from `first` on.
(define-fun core/in-run ((address Int) (first Int) (size Int)) Bool
  (and (<= first address) (< address (+ first size))))

; Two runs of addresses lie apart.
(define-fun core/apart ((first Int) (size Int) (other_first Int) (other_size Int)) Bool
  (or (<= (+ first size) other_first) (<= (+ other_first other_size) first)))

; `value` is a multiple of `unit`, the quotient named.
(define-fun core/multiple ((value Int) (unit Int) (quotient Int)) Bool
  (= value (* unit quotient)))

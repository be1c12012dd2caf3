; Mappings: positions, digits, coordinates, guards.
; The core's definitions as SMT-LIB 2, quoted word for word by the theorems in proofs/. Integers only, no machine,
; no div, no mod: quotient and remainder are always named, so that every definition is a sum of products.
; Source: "DMA Engine" and "Sequencer" (Mapping expressions).

; A digit, a loop counter or a position that takes the values 0 .. slots - 1.
(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))

; The position of a pair `major, minor` whose minor side has `size` positions.
(define-fun core/join ((major Int) (size Int) (minor Int)) Int
  (+ (* major size) minor))

; `major` and `minor` are quotient and remainder of `position` by `size`, which is positive: what `/` and `%` mean.
(define-fun core/splits ((position Int) (size Int) (major Int) (minor Int)) Bool
  (and (= position (core/join major size minor)) (core/in-range minor size)))

; The coordinate on an axis: the sum of the digits seen so far, plus one more digit of the given weight.
(define-fun core/coordinate ((sum Int) (digit Int) (weight Int)) Int
  (+ sum (* digit weight)))

; A digit that walks its slots is live below `live`: padding of one digit.
(define-fun core/digit-live ((digit Int) (live Int)) Bool
  (< digit live))

; Padding of a compound: two digits together are live below `live`, wherever that falls among them.
(define-fun core/compound-live ((major Int) (size Int) (minor Int) (live Int)) Bool
  (< (core/join major size minor) live))

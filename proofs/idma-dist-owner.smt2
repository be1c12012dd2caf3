; claim: Every row, length and strip width: a byte of a row lies in the slice of its own strip, and every byte of any
;   slice lies in the strip of that slice. Strips are unique (euclid-uniqueness), so slices are the row, each byte once,
;   and no back-end gets a byte of another's strip.
; relied on by: dmaverify.machines.idma.midends.mp_dist
; relied on by: dmaverify.machines.idma.midends.distributed
; quotes: encodings/core/sequencer.smt2#core/in-window
; quotes: encodings/core/sequencer.smt2#core/in-run
; quotes: encodings/idma/bursts.smt2#idma/slice-first
; quotes: encodings/idma/bursts.smt2#idma/slice-end
; tamper: (core/in-window y width other))) ==> (core/in-window (+ y 1) width other)))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-window ((address Int) (size Int) (window Int)) Bool
  (and (<= (* size window) address) (< address (* size (+ window 1)))))
(define-fun core/in-run ((address Int) (first Int) (size Int)) Bool
  (and (<= first address) (< address (+ first size))))
(define-fun idma/slice-first ((row Int) (width Int) (strip Int)) Int
  (ite (< row (* width strip)) (* width strip) row))
(define-fun idma/slice-end ((row Int) (length Int) (width Int) (strip Int)) Int
  (ite (< (* width (+ strip 1)) (+ row length)) (* width (+ strip 1)) (+ row length)))

(declare-const row Int)
(declare-const length Int)
(declare-const width Int)
(declare-const strip Int)
(declare-const other Int)
(declare-const x Int)
(declare-const y Int)
(assert (and (< 0 width) (< 0 length)))
(assert (core/in-run x row length))
(assert (core/in-window x width strip))
(assert (and (<= (idma/slice-first row width other) y) (< y (idma/slice-end row length width other))))
(assert (not (and
  (<= (idma/slice-first row width strip) x)
  (< x (idma/slice-end row length width strip))
  (core/in-run y row length)
  (core/in-window y width other))))
(check-sat)

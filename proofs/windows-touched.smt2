; claim: Every window size and run: if the first address of a run lies in window f and the last in window l, the run
;   touches exactly the windows f .. l. Each address lies in one of them, and each of them holds an address of the run,
;   the larger of the run's and the window's first. So l - f + 1 windows are touched.
; relied on by: dmaverify.cost.nest.windows
; quotes: encodings/core/sequencer.smt2#core/in-window
; quotes: encodings/core/sequencer.smt2#core/in-run
; tamper: (- (+ first length) 1) ==> (- (+ first length) 2)
; tamper: (and (<= f v) (<= v l)) ==> (and (<= f v) (<= v (+ l 1)))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-window ((address Int) (size Int) (window Int)) Bool
  (and (<= (* size window) address) (< address (* size (+ window 1)))))
(define-fun core/in-run ((address Int) (first Int) (size Int)) Bool
  (and (<= first address) (< address (+ first size))))

(declare-const size Int)
(declare-const first Int)
(declare-const length Int)
(declare-const f Int)
(declare-const l Int)
(declare-const x Int)
(declare-const w Int)
(declare-const v Int)
(assert (and (< 0 size) (< 0 length)))
(assert (core/in-window first size f))
(assert (core/in-window (- (+ first length) 1) size l))
(assert (core/in-run x first length))
(assert (core/in-window x size w))
(assert (and (<= f v) (<= v l)))
(assert (not (and
  (<= f w)
  (<= w l)
  (core/in-run (ite (< first (* size v)) (* size v) first) first length)
  (core/in-window (ite (< first (* size v)) (* size v) first) size v))))
(check-sat)

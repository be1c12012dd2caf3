; claim: Every address, length and window: with the first byte in window f and the last in window l, l - f + 1, the
;   number of bursts, is the one number c with window (c - 1) < offset + length <= window c, offset being the address
;   within its window: the count formula.
; relied on by: dmaverify.machines.idma.legalizer.window_count
; quotes: encodings/core/sequencer.smt2#core/in-window
; tamper: (<= (+ (- address (* window f)) length) (* window (+ (- l f) 1))) ==> (<= (+ (- address (* window f)) length) (* window (- l f)))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-window ((address Int) (size Int) (window Int)) Bool
  (and (<= (* size window) address) (< address (* size (+ window 1)))))

(declare-const address Int)
(declare-const length Int)
(declare-const window Int)
(declare-const f Int)
(declare-const l Int)
(assert (and (< 0 window) (< 0 length)))
(assert (core/in-window address window f))
(assert (core/in-window (- (+ address length) 1) window l))
(assert (not (and
  (< (* window (- l f)) (+ (- address (* window f)) length))
  (<= (+ (- address (* window f)) length) (* window (+ (- l f) 1))))))
(check-sat)

; claim: Every address, length and boundary: a piece of mp_split is a step of page type on the side that decides; both
;   sides move alike, so that the piece of the other side is as long and follows on the one before.
; relied on by: dmaverify.machines.idma.midends.mp_split
; quotes: encodings/core/sequencer.smt2#core/in-window
; quotes: encodings/idma/bursts.smt2#idma/page-step
; tamper: (- (+ other (idma/page-step key rest width strip)) other) ==> (- (+ other (idma/page-step key rest width strip)) key)
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-window ((address Int) (size Int) (window Int)) Bool
  (and (<= (* size window) address) (< address (* size (+ window 1)))))
(define-fun idma/page-step ((address Int) (rest Int) (window Int) (index Int)) Int
  (ite (< (- (* window (+ index 1)) address) rest) (- (* window (+ index 1)) address) rest))

(declare-const key Int)
(declare-const other Int)
(declare-const rest Int)
(declare-const width Int)
(declare-const strip Int)
(assert (and (< 0 width) (< 0 rest)))
(assert (core/in-window key width strip))
(assert (not (and
  (core/in-window (+ key (idma/page-step key rest width strip) (- 1)) width strip)
  (= (- (+ other (idma/page-step key rest width strip)) other) (- (+ key (idma/page-step key rest width strip)) key)))))
(check-sat)

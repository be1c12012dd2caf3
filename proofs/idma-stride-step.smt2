; claim: Every stride, pitch and count: after the inner dimensions have moved by `moved`, adding the programmed stride
;   is one step of the pitch from where they began, so that addresses are base plus index times pitch.
; relied on by: dmaverify.machines.idma.nd.absolute
; relied on by: dmaverify.machines.idma.nd.starts
; quotes: encodings/idma/bursts.smt2#idma/pitch
; tamper: (+ outer (* (+ i 1) (idma/pitch programmed moved))) ==> (+ outer (* (+ i 1) programmed))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun idma/pitch ((programmed Int) (moved Int)) Int
  (+ programmed moved))

(declare-const outer Int)
(declare-const i Int)
(declare-const programmed Int)
(declare-const moved Int)
(assert (<= 0 i))
(assert (not (= (+ outer (* i (idma/pitch programmed moved)) moved programmed) (+ outer (* (+ i 1) (idma/pitch programmed moved))))))
(check-sat)

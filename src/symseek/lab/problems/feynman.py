"""Laws of physics as problems: the Feynman suite of SRBench, one line a law.

Volumes I, II and III are Feynman's lectures, by chapter and equation; the `test` laws come from
other textbooks. Every variable has its own name and range. The operators are those of a fit that is
not told any: a law may have more (tanh, asin, acos), and the numbers in it are to be fitted.
"""

from __future__ import annotations

import re

from symseek.lab.problems.problem import Box, Problem

__all__ = ["OPERATORS", "PROBLEMS", "ROWS"]

#: What a fit has unless it is told otherwise, and numbers to fit.
OPERATORS = ("add", "sub", "mul", "div", "sin", "cos", "exp", "log", "sqrt", "square", "const")

ROWS = 2000  # to search on, and as many to test on
BUDGET = 1_000_000  # expressions a search may sample

# Name, formula | variables and the range that they are drawn from, evenly.
LAWS = """
I_6_2     exp(-(theta/sigma)**2/2)/(sqrt(2*pi)*sigma)        | sigma theta 1-3
I_6_2a    exp(-theta**2/2)/sqrt(2*pi)                        | theta 1-3
I_6_2b    exp(-((theta - theta1)/sigma)**2/2)/(sqrt(2*pi)*sigma) | sigma theta theta1 1-3
I_8_14    sqrt((x2 - x1)**2 + (y2 - y1)**2)                  | x1 x2 y1 y2 1-5
I_9_18    G*m1*m2/((x2 - x1)**2 + (y2 - y1)**2 + (z2 - z1)**2) \
          | m1 m2 G 1-2, x1 3-4, x2 1-2, y1 3-4, y2 1-2, z1 3-4, z2 1-2
I_10_7    m_0/sqrt(1 - v**2/c**2)                            | m_0 1-5, v 1-2, c 3-10
I_11_19   x1*y1 + x2*y2 + x3*y3                              | x1 x2 x3 y1 y2 y3 1-5
I_12_1    mu*Nn                                              | mu Nn 1-5
I_12_2    q1*q2*r/(4*pi*epsilon*r**3)                        | q1 q2 epsilon r 1-5
I_12_4    q1*r/(4*pi*epsilon*r**3)                           | q1 epsilon r 1-5
I_12_5    q2*Ef                                              | q2 Ef 1-5
I_12_11   q*(Ef + B*v*sin(theta))                            | q Ef B v theta 1-5
I_13_4    1/2*m*(v**2 + u**2 + w**2)                         | m v u w 1-5
I_13_12   G*m1*m2*(1/r2 - 1/r1)                              | m1 m2 r1 r2 G 1-5
I_14_3    m*g*z                                              | m g z 1-5
I_14_4    1/2*k_spring*x**2                                  | k_spring x 1-5
I_15_3t   (t - u*x/c**2)/sqrt(1 - u**2/c**2)                 | x 1-5, c 3-10, u 1-2, t 1-5
I_15_3x   (x - u*t)/sqrt(1 - u**2/c**2)                      | x 5-10, u 1-2, c 3-20, t 1-2
I_15_10   m_0*v/sqrt(1 - v**2/c**2)                          | m_0 1-5, v 1-2, c 3-10
I_16_6    (u + v)/(1 + u*v/c**2)                             | c v u 1-5
I_18_4    (m1*r1 + m2*r2)/(m1 + m2)                          | m1 m2 r1 r2 1-5
I_18_12   r*F*sin(theta)                                     | r F 1-5, theta 0-5
I_18_14   m*r*v*sin(theta)                                   | m r v theta 1-5
I_24_6    1/2*m*(omega**2 + omega_0**2)*1/2*x**2             | m omega omega_0 x 1-3
I_25_13   q/C                                                | q C 1-5
I_26_2    asin(n*sin(theta2))                                | n 0-1, theta2 1-5
I_27_6    1/(1/d1 + n/d2)                                    | d1 d2 n 1-5
I_29_4    omega/c                                            | omega c 1-10
I_29_16   sqrt(x1**2 + x2**2 - 2*x1*x2*cos(theta1 - theta2)) | x1 x2 theta1 theta2 1-5
I_30_3    Int_0*sin(n*theta/2)**2/sin(theta/2)**2            | Int_0 theta n 1-5
I_30_5    asin(lambd/(n*d))                                  | lambd 1-2, d 2-5, n 1-5
I_32_5    q**2*a**2/(6*pi*epsilon*c**3)                      | q a epsilon c 1-5
I_32_17   (1/2*epsilon*c*Ef**2)*(8*pi*r**2/3)*(omega**4/(omega**2 - omega_0**2)**2) \
          | epsilon c Ef r omega 1-2, omega_0 3-5
I_34_1    omega_0/(1 - v/c)                                  | c 3-10, v 1-2, omega_0 1-5
I_34_8    q*v*B/p                                            | q v B p 1-5
I_34_14   (1 + v/c)/sqrt(1 - v**2/c**2)*omega_0              | c 3-10, v 1-2, omega_0 1-5
I_34_27   (h/(2*pi))*omega                                   | omega h 1-5
I_37_4    I1 + I2 + 2*sqrt(I1*I2)*cos(delta)                 | I1 I2 delta 1-5
I_38_12   4*pi*epsilon*(h/(2*pi))**2/(m*q**2)                | m q h epsilon 1-5
I_39_1    3/2*pr*V                                           | pr V 1-5
I_39_11   1/(gamma - 1)*pr*V                                 | gamma 2-5, pr V 1-5
I_39_22   n*kb*T/V                                           | n T V kb 1-5
I_40_1    n_0*exp(-m*g*x/(kb*T))                             | n_0 m x T g kb 1-5
I_41_16   h/(2*pi)*omega**3/(pi**2*c**2*(exp((h/(2*pi))*omega/(kb*T)) - 1)) | omega T h kb c 1-5
I_43_16   mu_drift*q*Volt/d                                  | mu_drift q Volt d 1-5
I_43_31   mob*kb*T                                           | mob T kb 1-5
I_43_43   1/(gamma - 1)*kb*v/A                               | gamma 2-5, kb A v 1-5
I_44_4    n*kb*T*log(V2/V1)                                  | n kb T V1 V2 1-5
I_47_23   sqrt(gamma*pr/rho)                                 | gamma pr rho 1-5
I_48_2    m*c**2/sqrt(1 - v**2/c**2)                         | m 1-5, v 1-2, c 3-10
I_50_26   x1*(cos(omega*t) + alpha*cos(omega*t)**2)          | x1 omega t alpha 1-3
II_2_42   kappa*(T2 - T1)*A/d                                | kappa T1 T2 A d 1-5
II_3_24   Pwr/(4*pi*r**2)                                    | Pwr r 1-5
II_4_23   q/(4*pi*epsilon*r)                                 | q epsilon r 1-5
II_6_11   1/(4*pi*epsilon)*p_d*cos(theta)/r**2               | epsilon p_d theta r 1-3
II_6_15a  p_d/(4*pi*epsilon)*3*z/r**5*sqrt(x**2 + y**2)      | epsilon p_d r x y z 1-3
II_6_15b  p_d/(4*pi*epsilon)*3*cos(theta)*sin(theta)/r**3    | epsilon p_d theta r 1-3
II_8_7    3/5*q**2/(4*pi*epsilon*d)                          | q epsilon d 1-5
II_8_31   epsilon*Ef**2/2                                    | epsilon Ef 1-5
II_10_9   sigma_den/epsilon*1/(1 + chi)                      | sigma_den epsilon chi 1-5
II_11_3   q*Ef/(m*(omega_0**2 - omega**2))                   | q Ef m 1-3, omega_0 3-5, omega 1-2
II_11_20  n_rho*p_d**2*Ef/(3*kb*T)                           | n_rho p_d Ef kb T 1-5
II_11_27  n*alpha/(1 - (n*alpha/3))*epsilon*Ef               | n alpha 0-1, epsilon Ef 1-2
II_11_28  1 + n*alpha/(1 - (n*alpha/3))                      | n alpha 0-1
II_13_17  1/(4*pi*epsilon*c**2)*2*I/r                        | epsilon c I r 1-5
II_13_23  rho_c_0/sqrt(1 - v**2/c**2)                        | rho_c_0 1-5, v 1-2, c 3-10
II_13_34  rho_c_0*v/sqrt(1 - v**2/c**2)                      | rho_c_0 1-5, v 1-2, c 3-10
II_15_4   -mom*B*cos(theta)                                  | mom B theta 1-5
II_15_5   -p_d*Ef*cos(theta)                                 | p_d Ef theta 1-5
II_21_32  q/(4*pi*epsilon*r*(1 - v/c))                       | q epsilon r 1-5, v 1-2, c 3-10
II_24_17  sqrt(omega**2/c**2 - pi**2/d**2)                   | omega 4-6, c 1-2, d 2-4
II_27_16  epsilon*c*Ef**2                                    | epsilon c Ef 1-5
II_27_18  epsilon*Ef**2                                      | epsilon Ef 1-5
II_34_2   q*v*r/2                                            | q v r 1-5
II_34_2a  q*v/(2*pi*r)                                       | q v r 1-5
II_34_11  g_*q*B/(2*m)                                       | g_ q B m 1-5
II_34_29a q*h/(4*pi*m)                                       | q h m 1-5
II_34_29b g_*mom*B*Jz/(h/(2*pi))                             | g_ h Jz mom B 1-5
II_35_18  n_0/(exp(mom*B/(kb*T)) + exp(-mom*B/(kb*T)))       | n_0 kb T mom B 1-3
II_35_21  n_rho*mom*tanh(mom*B/(kb*T))                       | n_rho mom B kb T 1-5
II_36_38  mom*H/(kb*T) + (mom*alpha)/(epsilon*c**2*kb*T)*M   | mom H kb T alpha epsilon c M 1-3
II_37_1   mom*(1 + chi)*B                                    | mom B chi 1-5
II_38_3   Y*A*x/d                                            | Y A d x 1-5
II_38_14  Y/(2*(1 + sigma))                                  | Y sigma 1-5
III_4_32  1/(exp((h/(2*pi))*omega/(kb*T)) - 1)               | h omega kb T 1-5
III_4_33  (h/(2*pi))*omega/(exp((h/(2*pi))*omega/(kb*T)) - 1) | h omega kb T 1-5
III_7_38  2*mom*B/(h/(2*pi))                                 | mom B h 1-5
III_8_54  sin(E_n*t/(h/(2*pi)))**2                           | E_n t 1-2, h 1-4
III_9_52  (p_d*Ef*t/(h/(2*pi)))*sin((omega - omega_0)*t/2)**2/((omega - omega_0)*t/2)**2 \
          | p_d Ef t h 1-3, omega omega_0 1-5
III_10_19 mom*sqrt(Bx**2 + By**2 + Bz**2)                    | mom Bx By Bz 1-5
III_12_43 n*(h/(2*pi))                                       | n h 1-5
III_13_18 2*E_n*d**2*k/(h/(2*pi))                            | E_n d k h 1-5
III_14_14 I_0*(exp(q*Volt/(kb*T)) - 1)                       | I_0 1-5, q Volt kb T 1-2
III_15_12 2*U*(1 - cos(k*d))                                 | U k d 1-5
III_15_14 (h/(2*pi))**2/(2*E_n*d**2)                         | h E_n d 1-5
III_15_27 2*pi*alpha/(n*d)                                   | alpha n d 1-5
III_17_37 beta*(1 + alpha*cos(theta))                        | beta alpha theta 1-5
III_19_51 -m*q**4/(2*(4*pi*epsilon)**2*(h/(2*pi))**2)*(1/n**2) | m q h n epsilon 1-5
III_21_20 -rho_c_0*q*A_vec/m                                 | rho_c_0 q A_vec m 1-5
test_1    (Z_1*Z_2*alpha*hbar*c/(4*E_n*sin(theta/2)**2))**2 \
          | Z_1 Z_2 alpha hbar c 1-2, E_n theta 1-3
test_2    m*k_G/L**2*(1 + sqrt(1 + 2*E_n*L**2/(m*k_G**2))*cos(theta1 - theta2)) \
          | m k_G L E_n 1-3, theta1 theta2 0-6
test_3    d*(1 - alpha**2)/(1 + alpha*cos(theta1 - theta2))  | d 1-3, alpha 2-4, theta1 theta2 4-5
test_4    sqrt(2/m*(E_n - U - L**2/(2*m*r**2)))              | m 1-3, E_n 8-12, U L r 1-3
test_5    2*pi*d**(3/2)/sqrt(G*(m1 + m2))                    | d G m1 m2 1-3
test_6    sqrt(1 + 2*epsilon**2*E_n*L**2/(m*(Z_1*Z_2*q**2)**2)) | epsilon L m Z_1 Z_2 q E_n 1-3
test_7    sqrt(8*pi*G*rho/3 - alpha*c**2/d**2)               | G rho 1-3, alpha c 1-2, d 1-3
test_8    E_n/(1 + E_n/(m*c**2)*(1 - cos(theta)))            | E_n m c theta 1-3
test_9    -32/5*G**4/c**5*(m1*m2)**2*(m1 + m2)/r**5          | G c 1-2, m1 m2 1-5, r 1-2
test_10   acos((cos(theta2) - v/c)/(1 - v/c*cos(theta2)))    | c 4-6, v theta2 1-3
test_11   I_0*(sin(alpha/2)*sin(n*delta/2)/(alpha/2*sin(delta/2)))**2 | I_0 alpha delta 1-3, n 1-2
test_12   q/(4*pi*epsilon*y**2)*(4*pi*epsilon*Volt*d - q*d*y**3/(y**2 - d**2)**2) \
          | q 1-5, y 1-3, Volt 1-5, d 4-6, epsilon 1-5
test_13   1/(4*pi*epsilon)*q/sqrt(r**2 + d**2 - 2*r*d*cos(alpha)) \
          | q 1-5, r 1-3, d 4-6, alpha 0-6, epsilon 1-5
test_14   Ef*cos(theta)*(-r + d**3/r**2*(alpha - 1)/(alpha + 2)) | Ef 1-5, theta 0-6, r d alpha 1-5
test_15   sqrt(1 - v**2/c**2)*omega/(1 + v/c*cos(theta))     | c 5-20, v 1-3, omega 1-5, theta 0-6
test_16   sqrt((p - q*A_vec)**2*c**2 + m**2*c**4) + q*Volt   | m c p q A_vec Volt 1-5
test_17   1/(2*m)*(p**2 + m**2*omega**2*x**2*(1 + alpha*x/y)) | m omega p y x alpha 1-5
test_18   3/(8*pi*G)*(c**2*k_f/r**2 + H_G**2)                | G k_f r H_G c 1-5
test_19   -1/(8*pi*G)*(c**4*k_f/r**2 + H_G**2*c**2*(1 - 2*alpha)) | G k_f r H_G alpha c 1-5
test_20   1/(4*pi)*alpha**2*h**2/(m**2*c**2)*(omega_0/omega)**2\
          *(omega_0/omega + omega/omega_0 - sin(beta)**2) \
          | omega omega_0 alpha h m c 1-5, beta 0-6
"""


def _law(line: str) -> Problem:
    """The problem that a line stands for."""
    law, _, ranges = line.partition("|")
    name, expression = law.split(maxsplit=1)
    box: dict[str, tuple[float, float]] = {}
    for group in ranges.split(","):
        *variables, between = group.split()
        low, _, high = between.partition("-")
        box |= dict.fromkeys(variables, (float(low), float(high)))
    points = Box(tuple(box.values()), ROWS)
    return Problem(
        name=f"feynman_{name}",
        suite="Feynman",
        expression=re.sub(r"\s{2,}", "", expression.strip()),  # where a line goes on in the next
        operators=OPERATORS,
        variables=tuple(box),
        train=points,
        test=points,
        budget=BUDGET,
    )


PROBLEMS: tuple[Problem, ...] = tuple(map(_law, LAWS.strip().splitlines()))

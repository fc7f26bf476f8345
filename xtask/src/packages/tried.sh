shoal --version
truncate -s 64M drive1 drive2 drive3 drive4
shoal create --level 5 --name pond drive1 drive2 drive3 drive4
head -c 5000000 /dev/urandom >content
shoal write drive1 drive2 drive3 drive4 <content
shoal fail --member drive2 drive1 drive2 drive3 drive4
shoal read drive1 drive2 drive3 drive4 | head -c 5000000 | cmp - content
shoal status drive1 drive3 drive4
shoal bench drive1 drive3 drive4 --seconds 1
